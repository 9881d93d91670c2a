"""Reading folders: each reader sees once each thing that is there all the time, whatever is made and removed meanwhile.

A place is where a list goes on: in its upper bits the number of the list, in its lower ones how much of it came before.
Lists are kept for as long as the folder is open, so that the places of one reader stay good when another begins anew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from itertools import islice
from threading import Lock
from typing import Protocol

from pf_backends.entries import Entry
from pf_fuse.vfs.freshness import Moment
from pf_fuse.vfs.listings import Listing
from pf_fuse.vfs.nodes import Node
from pf_fuse.vfs.tree import Tree

_SHIFT = 40
_BEFORE = (1 << _SHIFT) - 1
_KEPT = 64
"""Lists of one folder at once; who reads on in one that was dropped goes on in the newest."""


_UNOPENED = 256
"""Folders that were listed without having been opened, of which lists are kept: nobody says when they are closed."""


class Source(Protocol):
    """One list of what is in a folder."""

    until: float
    """Until when what it tells of things is good."""
    asked: Moment
    """When the backend was; of what was changed here since it may tell what was before."""

    def at_hand(self, before: int) -> bool:
        """True if what comes after so many can be told without asking the backend."""

    def after(self, before: int, count: int) -> Sequence[tuple[Entry, int]]:
        """At most so many things, and how many come up to each. May block; none at the end."""

    def ended(self) -> None:
        """A reader was told that there is no more."""


class Kept:
    """A list that is in memory; what was removed since is left out."""

    def __init__(self, listing: Listing) -> None:
        self.names = listing.names
        self.until = 0.0 if listing.doubted else listing.until
        self.asked = listing.asked
        self._listing = listing
        self._entries = listing.entries

    def at_hand(self, before: int) -> bool:  # noqa: ARG002 - all of it is
        return True

    def after(self, before: int, count: int) -> Sequence[tuple[Entry, int]]:
        names = self.names
        found: list[tuple[Entry, int]] = []
        while before < len(names) and len(found) < count:
            entry = self._entries.get(names[before])
            before += 1
            if entry:
                found.append((entry, before))
        return found

    def ended(self) -> None:
        self._listing.show(self.names)


class Streamed:
    """A list that is too long to be kept: only the page that is read is in memory, and what asks for the others.

    What is written here comes first, and then what the backend has beside it: when that has it, too, is all the same.
    """

    until = 0.0

    def __init__(self, tree: Tree, folder: Node) -> None:
        """The caller holds the lock of the tree."""
        self._tree = tree
        self._folder = folder
        self._path = folder.path
        self.asked = tree.moment()
        self._ours = {each.name: each.entry for each in folder.within() if each.staged and each.staged.dirty}
        self._lock = Lock()
        self._starts: list[tuple[int, str]] = [(0, "")]
        """How many things come before each page, and what asks for it."""
        self._at = -1
        """Which page is in memory."""
        self._entries: Sequence[Entry] = ()

    def at_hand(self, before: int) -> bool:
        start = self._starts[self._at][0]
        return self._at >= 0 and start <= before < start + len(self._entries)

    def after(self, before: int, count: int) -> Sequence[tuple[Entry, int]]:
        with self._lock:
            while not self.at_hand(before):
                page = max(at for at, (start, _) in enumerate(self._starts) if start <= before)
                if page == self._at:
                    return ()
                self._turn(page)
            first = before - self._starts[self._at][0]
            found = islice(self._entries, first, first + count)
            return [(entry, before + at) for at, entry in enumerate(found, 1)]

    def ended(self) -> None:
        return

    def _turn(self, page: int) -> None:
        start, rest = self._starts[page]
        found, rest = self._tree.page(self._path, rest)
        others = [entry for entry in found if entry.name not in self._ours]
        self._entries = others if page else [*self._ours.values(), *others]
        self._at = page
        if rest and page + 1 == len(self._starts):
            self._starts.append((start + len(self._entries), rest))


class Folders:
    """The folders that are open. Whoever calls holds the lock of the tree, but for `begin`."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._opens: dict[int, int] = {}
        self._sources: dict[int, dict[int, Source]] = {}
        """The lists of each folder by their number."""
        self._unopened = OrderedDict[int, None]()

    def open(self, node: Node) -> bool:
        """True if a reader has seen all of it, and that and what was told of each thing are still good."""
        self._opens[node.id] = self._opens.get(node.id, 0) + 1
        listing = node.listing
        return listing is not None and listing.is_shown and self._tree.good(listing)

    def close(self, node_id: int) -> None:
        self._opens[node_id] = self._opens.get(node_id, 1) - 1
        if not self._opens[node_id]:
            del self._opens[node_id]
            self._sources.pop(node_id, None)

    def source(self, node: Node, place: int) -> tuple[int, Source] | None:
        """The list that goes on at a place, and its number; None if the folder must be listed for it."""
        sources = self._sources.get(node.id) or {}
        if place:
            number = place >> _SHIFT
            number = number if number in sources else max(sources, default=0)
            return (number, sources[number]) if sources else None
        listing = node.listing
        if listing and listing.doubted:
            # It tells of each thing, and for as long as it is good.
            listing.until = 0.0
        return self._add(node, Kept(listing)) if listing and self._tree.good(listing) else None

    def begin(self, node: Node) -> tuple[int, Source]:
        """A new list. Blocks."""
        listing = self._tree.list(node)
        with self._tree.lock:
            return self._add(node, Kept(listing) if listing else Streamed(self._tree, node))

    def _add(self, node: Node, source: Source) -> tuple[int, Source]:
        if node.id not in self._opens:
            self._listed_unopened(node)
        sources = self._sources.setdefault(node.id, {})
        for number, known in sources.items():
            if isinstance(source, Kept) and isinstance(known, Kept) and known.names is source.names:
                sources[number] = source
                return number, source
        number = max(sources, default=0) + 1
        sources[number] = source
        if len(sources) > _KEPT:
            del sources[min(sources)]
        return number, source

    def _listed_unopened(self, node: Node) -> None:
        """Who reads on in a list that was let go of reads on in a new one, which is the same where nothing changes."""
        self._unopened[node.id] = None
        self._unopened.move_to_end(node.id)
        if len(self._unopened) > _UNOPENED:
            oldest, _ = self._unopened.popitem(last=False)
            if oldest not in self._opens:
                self._sources.pop(oldest, None)


def before(place: int) -> int:
    """How many things of its list come before a place."""
    return place & _BEFORE


def place(number: int, before: int) -> int:
    """Where a list goes on after so many things."""
    return number << _SHIFT | before
