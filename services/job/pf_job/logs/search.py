"""Lines that contain a text.

Regular expressions are not served: those of Python may take for ever, and hold up all callers meanwhile. Texts with
gaps are found from left to right, without ever going back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

ANYTHING = "*"


@dataclass(frozen=True)
class Search:
    """Chooses lines that contain one of several texts."""

    texts: Sequence[str]
    """Each has more in it than `*`, which stands for anything within the line."""
    ignore_case: bool = False
    """Of the letters of ASCII."""

    def keep(self, data: bytes) -> bytes:
        """The lines that contain a text, with their ends."""
        return b"".join(data[start:stop] for start, stop in self.find(data))

    def find(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Where lines that contain a text begin, and where they end."""
        place = 0
        while (found := self._first.search(data, place)) is not None:
            start = max(place, data.rfind(b"\n", place, found.start()) + 1)
            stop = data.find(b"\n", found.end()) + 1 or len(data)
            if self._is_in(data[start:stop]):
                yield start, stop
            place = stop

    @cached_property
    def _parts(self) -> Sequence[Sequence[bytes]]:
        """For each text the parts that must come one after another."""
        return [[self._folded(part.encode()) for part in text.split(ANYTHING) if part] for text in self.texts]

    @cached_property
    def _first(self) -> re.Pattern[bytes]:
        """Finds where a text may begin."""
        firsts = b"|".join(re.escape(parts[0]) for parts in self._parts)
        return re.compile(firsts, re.IGNORECASE if self.ignore_case else 0)

    def _is_in(self, line: bytes) -> bool:
        line = self._folded(line)
        return any(_follow(parts, line) for parts in self._parts)

    def _folded(self, data: bytes) -> bytes:
        return data.lower() if self.ignore_case else data


def _follow(parts: Sequence[bytes], line: bytes) -> bool:
    """True if the parts come one after another. The leftmost place of each leaves the most room for the others."""
    place = 0
    for part in parts:
        found = line.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return True
