"""What lies in memory, by its path and in order."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass, field

from pf_backends.entries import Entry, Kind


@dataclass(frozen=True, slots=True)
class Thing:
    """A file, a folder or a link."""

    kind: Kind
    body: bytes = b""
    modified: int = 0
    version: str = ""
    mode: int = 0o644
    owner: tuple[int, int] = (0, 0)
    attributes: dict[str, bytes] = field(default_factory=dict)
    target: str = ""

    def entry(self, path: str) -> Entry:
        size = len(self.target.encode()) if self.kind is Kind.LINK else len(self.body)
        return Entry(path, self.kind, size, self.modified, self.version, self.mode, self.owner, self.target)


class Things:
    """Things by path. Text sorts as its bytes in UTF-8 do."""

    def __init__(self) -> None:
        self._by_path: dict[str, Thing] = {}
        self._paths: list[str] = []

    def get(self, path: str) -> Thing | None:
        return self._by_path.get(path)

    def set(self, path: str, thing: Thing) -> None:
        if path not in self._by_path:
            insort(self._paths, path)
        self._by_path[path] = thing

    def pop(self, path: str) -> Thing:
        del self._paths[bisect_left(self._paths, path)]
        return self._by_path.pop(path)

    def below(self, folder: str, after: str = "") -> Iterator[str]:
        """The paths below a folder in order, those from `after` on."""
        inside = f"{folder}/" if folder else ""
        place = bisect_left(self._paths, max(inside, after))
        while place < len(self._paths) and self._paths[place].startswith(inside):
            yield self._paths[place]
            place += 1

    def first_below(self, folder: str, after: str = "") -> str | None:
        return next(self.below(folder, after), None)
