"""Logs in the words of the original, for its interface and for the command line."""

from __future__ import annotations

import re

from paddleflow.models.logs import LogOptions

LINES, SIZE = 1000, "100M"
"""How much of each replica is read if nothing is said."""
MOST_LINES = 1_000_000

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
_SIZE = re.compile(r"([0-9]{1,12})([KMG]?)B?", re.IGNORECASE)


def size_of(text: str) -> int | None:
    """The bytes that ``100M`` means; None if it means none."""
    found = _SIZE.fullmatch(text)
    return int(found[1]) * _UNITS[found[2].upper()] or None if found else None


def limited(lines: int, size: int, *, from_tail: bool) -> LogOptions:
    """What reads so much, and not more."""
    options: LogOptions = {"max_bytes": size, "max_lines": lines}
    if from_tail:
        options["tail_lines"] = lines
    return options
