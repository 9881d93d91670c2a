"""How much one call may do with files, and what becomes of a removal."""

from __future__ import annotations

from dataclasses import dataclass

MOST_BYTES = 2 * 1024 * 1024
"""That one call carries."""
LONGEST_PATTERN = 1000
LARGEST_PART = 64 * 1024 * 1024
"""Bytes of a part of an upload: so much of one is kept here until it is sent on."""
REMOVAL_SECONDS = 10.0
"""After which a removal leaves the rest to the next call."""


@dataclass(frozen=True, slots=True)
class Removal:
    """What one call removed."""

    removed: int
    pending: bool
    """True if more is left."""


@dataclass(frozen=True, slots=True)
class Begun:
    """An upload that was begun."""

    id: str
    part_size: int
    most_parts: int
