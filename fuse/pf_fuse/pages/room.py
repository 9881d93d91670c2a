"""How much a folder may hold, and what has to go when it holds too much."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

SHARE = 0.95
"""Of the disk, as far as others leave it, that a cache takes at most."""
HIGH = 0.97
"""Of what a folder may hold: above this the oldest files go."""
LOW = 0.92
"""Of what a folder may hold: how much is left when they have gone."""
ROUND = 4096
"""Files that are chosen at once: what is known of a million need not be in memory."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file in a folder."""

    name: str
    bytes: int
    """On the disk."""
    used: int
    """When it was opened, in nanoseconds since 1970."""


class Held(NamedTuple):
    """What a folder holds."""

    bytes: int = 0
    files: int = 0


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a folder may hold."""

    bytes: int
    files: int
    spare: int
    """Bytes of the disk that stay free."""

    def allow(self, size: int, files: int, free: int) -> bool:
        """True if a folder may hold so much, with so much of the disk free."""
        return size <= self.bytes and files <= self.files and free >= self.spare

    def exceeded(self, size: int, files: int, free: int) -> bool:
        """True if something has to go."""
        return size > HIGH * self.bytes or files > HIGH * self.files or free < self.spare

    def excess(self, held: Held, free: int) -> Held:
        """How much has to go; nothing as long as there is room for a while."""
        return Held(
            max(_excess(held.bytes, self.bytes), self.spare + self.spare // 4 - free if free < self.spare else 0),
            _excess(held.files, self.files),
        )


def bounds(most: int | None, files: int, disk: int, free: int, held: int, sharers: int) -> Bounds:
    """Of a folder on a disk, which so many folders of the cache share."""
    share = int(SHARE * (free + held)) // sharers
    return Bounds(min(most, share) if most is not None else share, files, int((1 - SHARE) * disk))


def total(found: Iterable[Found]) -> tuple[Held, list[Found]]:
    """What there is in all, and those that were not used for the longest time, the first of them first."""
    count, size = 0, 0

    def counted() -> Iterable[Found]:
        nonlocal count, size
        for each in found:
            count += 1
            size += each.bytes
            yield each

    oldest = heapq.nsmallest(ROUND, counted(), key=_used)
    return Held(size, count), oldest


def _used(found: Found) -> int:
    return found.used


def _excess(held: int, most: int) -> int:
    return held - int(LOW * most) if held > HIGH * most else 0
