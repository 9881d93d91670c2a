"""What is in a folder, as it was listed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from pf_backends.entries import Entry
from pf_fuse.vfs.freshness import Moment


class Listing:
    """All of what is in a folder, good until a time; what is changed here is changed in it too."""

    __slots__ = ("_looked_up", "_names", "_shown", "asked", "doubted", "entries", "until")

    def __init__(self, entries: Iterable[Entry], until: float, asked: Moment) -> None:
        self.entries = {entry.name: entry for entry in entries}
        self.until = until
        """By the monotonic clock."""
        self.asked = asked
        """When the backend was."""
        self.doubted = set[str]()
        """Names of which more must be asked: what is told of them here is not so any more."""
        self._looked_up = set[str]()
        self._names: Sequence[str] | None = None
        self._shown: Sequence[str] | None = None

    @property
    def names(self) -> Sequence[str]:
        """In order. What was given once stays as it is."""
        if self._names is None:
            self._names = sorted(self.entries)
        return self._names

    def show(self, names: Sequence[str]) -> None:
        """A reader has seen these to the end."""
        self._shown = names

    @property
    def is_shown(self) -> bool:
        """True if there is no other name since a reader has seen all."""
        return self._shown is not None and self._shown is self._names

    def looked_up(self, name: str, crowd: int) -> None:
        """So many names are a crowd; more are not remembered."""
        if len(self._looked_up) < crowd:
            self._looked_up.add(name)

    def was_crowded(self, crowd: int) -> bool:
        """True, once, if so many names were looked up in it: where no other list comes of that, they count anew."""
        found = len(self._looked_up) >= crowd
        self._looked_up.clear()
        return found

    def after(self, name: str, count: int) -> Sequence[Entry]:
        """The next things in order, as far as they were not removed since."""
        first = bisect_right(self.names, name)
        found = (self.entries.get(each) for each in self.names[first : first + count])
        return [entry for entry in found if entry]

    def put(self, entry: Entry) -> None:
        if entry.name not in self.entries:
            self._names = None
        self.entries[entry.name] = entry
        self.doubted.discard(entry.name)

    def drop(self, name: str) -> None:
        self.doubted.discard(name)
        if self.entries.pop(name, None):
            self._names = None
