"""Files of which only the digests count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from paddleflow.problems import FileNotFound, Problem
from pf_pipeline.artifacts.ports import Ask, Fault, Pending, Piece
from pf_pipeline.documents.model import CacheMode


@dataclass
class FakeFiles:
    """Fulfils `Files`, so far as digests are asked for."""

    kept: dict[tuple[str, str], str | Problem] = field(default_factory=dict)
    """Digests by filesystem and path."""
    slow: set[str] = field(default_factory=set)
    """Paths that take another call."""
    asked: list[tuple[Ask, tuple[str, ...], CacheMode]] = field(default_factory=list)

    def write(self, path: str, digest: str | Problem, filesystem: str = "fs") -> None:
        self.kept[filesystem, path] = digest

    async def digest(self, ask: Ask, paths: Sequence[str], mode: CacheMode) -> Sequence[str | Pending | Fault]:
        self.asked.append((ask, tuple(paths), mode))
        return [self._digest(ask, path, mode) for path in paths]

    def _digest(self, ask: Ask, path: str, mode: CacheMode) -> str | Pending | Fault:
        if path in self.slow:
            self.slow.discard(path)
            return Pending()
        found = self.kept.get((ask.filesystem_id, path), FileNotFound(f"there is nothing at {path!r}"))
        return Fault(found) if isinstance(found, Problem) else f"{mode}:{found}"

    async def exist(self, ask: Ask, paths: Sequence[str]) -> Sequence[bool | Fault]:
        return [(ask.filesystem_id, path) in self.kept for path in paths]

    async def read(self, ask: Ask, paths: Sequence[str], longest: int) -> Sequence[Piece | Fault]:
        raise NotImplementedError

    async def prepare(self, ask: Ask, paths: Sequence[str]) -> Sequence[Fault | Pending | None]:
        raise NotImplementedError

    async def remove(self, ask: Ask, paths: Sequence[str]) -> Sequence[Fault | Pending | None]:
        raise NotImplementedError
