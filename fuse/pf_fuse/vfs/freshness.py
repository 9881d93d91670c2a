"""How long what the backend tells is taken for true, and since when it is."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import NamedTuple, TypeAlias

from pf_backends.entries import Entry

Moment: TypeAlias = tuple[float, int]
"""A time by the monotonic clock, and how many changes were made here by then: many are made at one time."""
NEVER: Moment = (-inf, 0)


@dataclass(frozen=True, slots=True)
class Freshness:
    """How long what the backend told is taken for true, in seconds."""

    seconds: float = 1.0
    absent: float = 1.0
    """That there is nothing."""
    crowd: int = 3
    """So many names of one folder asked for, one by one, within that time: then it is listed."""
    most: int = 50_000
    """Folders with more things are listed piece by piece, and never kept whole."""


class Found(NamedTuple):
    """What lies under a name, None if there is nothing, until when that is good, and when it was asked for."""

    entry: Entry | None
    until: float
    asked: Moment
