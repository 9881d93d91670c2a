"""Digests of files that lie anywhere, all that are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pf_pipeline.artifacts.ports import Ask, Fault, Files, Pending
from pf_pipeline.documents.model import CacheMode


@dataclass(frozen=True, slots=True)
class Spot:
    """A path in a filesystem, as one user gets at it."""

    ask: Ask
    path: str


class Reading:
    """Reads files to their end, however many calls it takes."""

    def __init__(self, *, files: Files) -> None:
        self._files = files

    async def digests(self, mode: CacheMode, spots: Sequence[Spot]) -> Sequence[str | Fault]:
        """What files, and folders with all in them, are told by, in their order. Raises what `Files` does."""
        found: dict[Spot, str | Fault] = {}
        for ask in dict.fromkeys(spot.ask for spot in spots):
            paths = list(dict.fromkeys(spot.path for spot in spots if spot.ask == ask))
            while paths:
                told = await self._files.digest(ask, paths, mode)
                answers = dict(zip(paths, told, strict=True))
                found |= {Spot(ask, path): each for path, each in answers.items() if not isinstance(each, Pending)}
                paths = [path for path, each in answers.items() if isinstance(each, Pending)]
        return [found[spot] for spot in spots]
