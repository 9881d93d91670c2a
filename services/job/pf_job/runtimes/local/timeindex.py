"""Which part of a log was written when: pairs of a time in microseconds and how much there was then.

In the file each pair is 16 bytes. Between two pairs the time of a byte is unknown, so an answer may lie a little early.
"""

from __future__ import annotations

import bisect
import struct
from collections.abc import Sequence
from typing import NamedTuple

PAIR = struct.Struct("<QQ")
LONGEST = 65_536
"""Pairs in one index; of more, every second one is dropped."""


class Mark(NamedTuple):
    """At this time so many bytes had been written."""

    time: int
    size: int


def encode(marks: Sequence[Mark]) -> bytes:
    return b"".join(PAIR.pack(*mark) for mark in marks)


def decode(data: bytes) -> list[Mark]:
    """The marks of a file; half of one at the end, which a crash left there, is passed over."""
    return [Mark(*pair) for pair in PAIR.iter_unpack(data[: len(data) - len(data) % PAIR.size])]


def find(marks: Sequence[Mark], time: int) -> int:
    """An offset before which nothing was written at or after the time, as near to it as is known."""
    place = bisect.bisect_left(marks, time, key=lambda mark: mark.time)
    return marks[place - 1].size if place else 0


def growth(before: Mark, now: Mark, last: int) -> list[Mark]:
    """What to add when a log was seen to grow: where it stood when it was last seen not to, and where it stands.

    `last` is the time of the last mark in the index.
    """
    return [mark for mark in (before, now) if mark.time > last]


def thinned(marks: Sequence[Mark]) -> list[Mark]:
    """Every second mark, and the last."""
    kept = list(marks[::2])
    return kept if len(marks) % 2 else [*kept, marks[-1]]
