"""Guessing from the files of a folder that were opened which will be opened next.

Programs that go through a folder open its files in the order in which it is listed, several threads about so. The
further they have come, the more files are fetched before they are opened. Programs that train open all of them in no
order: once many were opened so, each further one has a few others fetched, until all of the folder is here. That pays
where a request takes long; where it does not, each file is fetched when it is opened.
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
MANY = 32
"""Files opened in no order, from which on others of the folder are fetched too."""
OTHERS = 4
"""Of a folder, for each file that is opened in no order: so many times as much as is read is fetched at most."""
FOLDERS = 1024
"""In which files are opened in no order, that are remembered."""
EXPECTED = 16_384
"""Files that are remembered as those to be opened next. When there are more all are forgotten."""


class Neighbours(Protocol):
    """Whoever knows what is in folders."""

    def after(self, path: str, count: int) -> Sequence[Entry]:
        """What comes after a thing in the order of its folder, as far as that is known without asking anybody.

        After a path that ends with a slash comes the first of the folder.
        """


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


@dataclass(slots=True)
class Sweep:
    """A folder whose files are opened in no order."""

    last: str
    """Up to where its files were fetched."""
    opened: int = 0


class Order:
    """In which order files are opened. What two threads change at once costs at most some requests."""

    def __init__(self, neighbours: Neighbours, most: int, small: int, *, keeps: bool) -> None:
        self._neighbours = neighbours
        self._most = most
        self._small = small
        self._keeps = keeps
        """What is fetched stays, however late it is opened."""
        self._sweeps: dict[str, Sweep] = {}
        self._expected: dict[str, Row] = {}

    def opened(self, path: str, *, here: bool, far: bool = True) -> Sequence[Entry]:
        """What to fetch now that a small file was opened, and was here or was not. `far`: requests take long."""
        row = self._expected.pop(path, None)
        if row is None:
            return () if here else self._begin(path, far=far)
        row.ahead -= 1
        if not row.window:
            row.last, row.ahead = path, 0
        elif row.ahead > row.window // 2:
            return ()
        row.window = min(self._most, max(FIRST, 2 * row.window))
        return self._fitting(self._next(row, row.window - row.ahead))

    def _begin(self, path: str, *, far: bool) -> Sequence[Entry]:
        self._next(Row(path), NEAR)
        return self._others(path) if self._keeps and far else ()

    def _others(self, path: str) -> Sequence[Entry]:
        """A few more of a folder, if many were opened in no order."""
        if len(self._sweeps) > FOLDERS:
            self._sweeps.clear()
        # What comes after a name without letters is the first.
        folder = path.rpartition("/")[0] + "/"
        sweep = self._sweeps.setdefault(folder, Sweep(folder))
        sweep.opened += 1
        found = self._neighbours.after(sweep.last, OTHERS) if sweep.opened > MANY else ()
        if found:
            sweep.last = found[-1].path
        return self._fitting(found)

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

    def _fitting(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Those that are small files, of which it can be told whether they are the same later."""
        return [
            entry
            for entry in entries
            if entry.kind is Kind.FILE and 0 < entry.size <= self._small and bool(entry.version)
        ]
