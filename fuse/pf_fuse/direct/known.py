"""What a program knows of a filesystem that it uses without a mount.

Nothing here is locked: each step is one of a dictionary, and what is lost is asked for anew. So it goes on in a process
that was forked, whoever held what at that moment.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from pf_backends.entries import Entry
from pf_backends.paths import parent

_MOST = 200_000
"""Things that are remembered. When there are more all are forgotten."""
FOREVER = math.inf


class Listing(NamedTuple):
    """What is in a folder."""

    names: Sequence[str]
    """In their order."""
    entries: Sequence[Entry]
    until: float


class Known:
    """Entries by their paths and folders by theirs, for some time."""

    def __init__(self, lasts: float, clock: Callable[[], float]) -> None:
        self.lasts = lasts
        """Seconds for which what the backend told is taken for true."""
        self._clock = clock
        self._entries: dict[str, tuple[Entry, float]] = {}
        self._listings: dict[str, Listing] = {}

    def entry(self, path: str) -> Entry | None:
        found, until = self._entries.get(path, (None, 0.0))
        return found if until > self._clock() else None

    def listing(self, folder: str) -> Sequence[Entry] | None:
        found = self._listings.get(folder)
        return found.entries if found and found.until > self._clock() else None

    def after(self, path: str, count: int) -> Sequence[Entry]:
        """What comes after a thing in the order of its folder, as far as that is known without asking anybody."""
        folder, _, name = path.rpartition("/")
        found = self._listings.get(folder)
        if found is None:
            return ()
        first = bisect_right(found.names, name)
        return found.entries[first : first + count]

    def told(self, entry: Entry, asked: float) -> None:
        """By the backend, which was asked at that time."""
        if self.lasts:
            self._bound()
            self._entries[entry.path] = entry, asked + self.lasts

    def listed(self, folder: str, entries: Sequence[Entry], asked: float) -> None:
        ordered = sorted(entries, key=lambda entry: entry.name)
        for entry in ordered:
            self.told(entry, asked)
        self._listings[folder] = Listing([entry.name for entry in ordered], ordered, asked + self.lasts)

    def changed(self, path: str) -> None:
        """By this program: it is another thing, or none, from now on."""
        self._entries.pop(path, None)
        self._listings.pop(parent(path), None)

    def forget(self) -> None:
        self._entries.clear()
        self._listings.clear()

    def _bound(self) -> None:
        if len(self._entries) > _MOST:
            self.forget()
