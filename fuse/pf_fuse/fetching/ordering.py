"""Guessing from the files of a folder that were opened which will be opened next.

Programs that go through a folder open its files in the order in which it is listed, several threads about so. The
further they have come, the more files are fetched before they are opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pf_backends.entries import Entry, Kind

NEAR = 4
"""Files after one that was opened, of which one that is opened next shows that somebody goes through the folder."""
FIRST = 16
"""Files that are fetched ahead then."""
EXPECTED = 16_384
"""Files that are remembered as those to be opened next. When there are more all are forgotten."""


class Neighbours(Protocol):
    """Whoever knows what is in folders."""

    def after(self, path: str, count: int) -> Sequence[Entry]:
        """What comes after a thing in the order of its folder, as far as that is known without asking anybody."""


class Nobody:
    """Knows of no folder."""

    def after(self, path: str, count: int) -> Sequence[Entry]:  # noqa: ARG002  # the port's
        return ()


@dataclass(slots=True)
class Row:
    """Somebody who goes through a folder."""

    last: str
    """Up to where files are fetched."""
    ahead: int = 0
    """Files that are fetched and were not opened."""
    window: int = 0


class Order:
    """In which order files are opened. What two threads change at once costs at most some requests."""

    def __init__(self, neighbours: Neighbours, most: int, small: int) -> None:
        self._neighbours = neighbours
        self._most = most
        self._small = small
        self._expected: dict[str, Row] = {}

    def opened(self, path: str, *, here: bool) -> Sequence[Entry]:
        """What to fetch now that a small file was opened, and was here or was not."""
        row = self._expected.pop(path, None)
        if row is None:
            return () if here else self._begin(path)
        row.ahead -= 1
        if not row.window:
            row.last, row.ahead = path, 0
        elif row.ahead > row.window // 2:
            return ()
        row.window = min(self._most, max(FIRST, 2 * row.window))
        return [entry for entry in self._next(row, row.window - row.ahead) if self._fits(entry)]

    def _begin(self, path: str) -> Sequence[Entry]:
        self._next(Row(path), NEAR)
        return ()

    def _next(self, row: Row, count: int) -> Sequence[Entry]:
        found = self._neighbours.after(row.last, count)
        if len(self._expected) > EXPECTED:
            self._expected.clear()
        for entry in found:
            self._expected[entry.path] = row
        row.ahead += len(found)
        if found:
            row.last = found[-1].path
        return found

    def _fits(self, entry: Entry) -> bool:
        return entry.kind is Kind.FILE and 0 < entry.size <= self._small and bool(entry.version)
