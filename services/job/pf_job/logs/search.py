"""Lines that contain a text.

Regular expressions are not served: those of Python may take for ever, and hold up all callers meanwhile. Texts with
gaps are found from left to right, without ever going back.
"""

from __future__ import annotations

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

    def find(self, data: bytes) -> Sequence[tuple[int, int]]:
        """Where lines that contain a text begin, and where they end."""
        folded = self._folded(data)
        return sorted({line for parts in self._parts for line in _lines(parts, folded)})

    @cached_property
    def _parts(self) -> Sequence[Sequence[bytes]]:
        """For each text the parts that must come one after another; of texts that mean the same, once."""
        texts = (self._folded(text.encode()).split(ANYTHING.encode()) for text in self.texts)
        return list(dict.fromkeys(tuple(filter(None, parts)) for parts in texts))

    def _folded(self, data: bytes) -> bytes:
        return data.lower() if self.ignore_case else data


def _lines(parts: Sequence[bytes], data: bytes) -> Iterator[tuple[int, int]]:
    place = 0
    while (found := data.find(parts[0], place)) >= 0:
        start = max(place, data.rfind(b"\n", place, found) + 1)
        stop = data.find(b"\n", found) + 1 or len(data)
        if _follow(parts, data[found:stop]):
            yield start, stop
        place = stop


def _follow(parts: Sequence[bytes], line: bytes) -> bool:
    """True if the parts come one after another. The leftmost place of each leaves the most room for the others."""
    place = 0
    for part in parts:
        found = line.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return True
