"""What lies where: what was told of it a moment ago at once, and the rest by asking the backend.

Two threads never see half of a change: all that is known is behind one lock, which nobody holds while the backend is
asked. What it told before something was changed here does not count when it arrives after it.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from contextlib import suppress
from threading import RLock
from typing import Protocol

from pf_backends.entries import Capabilities, Entry, Kind, Page
from pf_backends.errors import failure
from pf_backends.paths import joined
from pf_fuse.operations import TOP
from pf_fuse.vfs.crowds import Crowds
from pf_fuse.vfs.freshness import Found, Freshness, Moment
from pf_fuse.vfs.habits import Habits
from pf_fuse.vfs.listings import Listing
from pf_fuse.vfs.nodes import FOREVER, Node, Nodes

_PAGE = 1000
_TOO_MUCH = 60.0
"""Seconds for which it is not tried again whether a folder has too much to be kept whole."""
_MOST_LARGE = 10_000
"""Folders of which that is known; about 100 bytes each."""
_ATTEMPTS = 3
"""Times that a folder is listed again, because it was renamed meanwhile."""


class Lister(Protocol):
    """What is needed of a backend; see `pf_backends.port`."""

    @property
    def capabilities(self) -> Capabilities: ...

    def stat(self, path: str) -> Entry: ...

    def list(self, folder: str, *, rest: str = "", limit: int = 1000) -> Page: ...


class Tree:
    """The nodes, and what is known of the backend."""

    def __init__(
        self,
        backend: Lister,
        nodes: Nodes,
        freshness: Freshness,
        monotonic: Callable[[], float],
        known: Callable[[str], Entry | None] | None = None,
    ) -> None:
        """`known` tells at once what lies at a path, if nobody needs be asked."""
        self.lock = RLock()
        """Held for the moments in which something is looked up or changed."""
        self.nodes = nodes
        self._backend = backend
        self._freshness = freshness
        self._monotonic = monotonic
        self._known = known
        self._listing: dict[int, Future[Listing | None]] = {}
        """Folders that are being listed."""
        self._large: dict[int, float] = {}
        """Folders that had too much to be kept whole, and until when that is taken for true."""
        self._amid: dict[int, set[str]] = {}
        """Of folders that are being listed: names under which something was changed here meanwhile."""
        self._overtaken = set[int]()
        """Folders that are being listed, and were changed here meanwhile in more than names can tell."""
        self._crowds = Crowds(freshness)
        self._habits = Habits()
        self._changes = 0
        """How many were made here."""

    def remembered(self, folder: Node, name: str) -> Found | None:
        """What is known of a name; None if the backend must be asked."""
        asked = now, _ = self.moment()
        if (node := self.nodes.child(folder, name)) and node.until > now:
            return Found(node.entry, node.until, asked)
        if (listing := folder.listing) and listing.until > now and name not in listing.doubted:
            listing.looked_up(name, self._freshness.crowd)
            return Found(listing.entries.get(name), listing.until, asked)
        if folder.absent and (until := folder.absent.get(name, 0.0)) > now:
            return Found(None, until, asked)
        if self._known:
            return Found(self._known(joined(folder.path, name)), now + self._freshness.seconds, asked)
        return None

    def moment(self) -> Moment:
        """By the clock by which things are good until a time."""
        return self._monotonic(), self._changes

    def fresh(self, node: Node) -> bool:
        return node.until > self._monotonic()

    def lasts(self, until: float) -> float:
        """Seconds for which others may take for true what is good until then."""
        return min(max(0.0, until - self._monotonic()), self._freshness.seconds)

    def find(self, folder: Node, name: str) -> Found:
        """What lies under a name, as was told a moment ago or as the backend tells now. Blocks."""
        with self.lock:
            if found := self.remembered(folder, name):
                return found
        if self._crowded(folder) and self.list(folder):
            with self.lock:
                if found := self.remembered(folder, name):
                    return found
        for _ in range(_ATTEMPTS):
            if found := self._ask(folder, name):
                return found
        with self.lock:
            # It is changed here all the time.
            node = self.nodes.child(folder, name)
            return self.remembered(folder, name) or Found(node.entry if node else None, 0.0, self.moment())

    def expected(self, folder: Node, name: str) -> Entry | None:
        """The file that lay under a name when the backend was asked last, and that will be opened now, as others were.

        The caller holds the lock.
        """
        self._habits.looked_up(folder.id)
        if not self._habits.opens(folder.id):
            return None
        if node := self.nodes.child(folder, name):
            return node.entry if node.entry.kind is Kind.FILE and not node.staged else None
        entry = folder.listing.entries.get(name) if folder.listing else None
        return entry if entry and entry.kind is Kind.FILE else None

    def opened(self, node: Node) -> None:
        """A file was opened to be read. The caller holds the lock."""
        if node.folder:
            self._habits.opened(node.folder.id)

    def told(self, folder: Node, name: str, entry: Entry | None, asked: Moment) -> Found | None:
        """What lies there, given what the backend told when it was asked at a time. The caller holds the lock.

        None if it was changed here since, and the backend must be asked what it is now.
        """
        node = self.nodes.child(folder, name)
        if (folder.changed > asked or (node and node.until == FOREVER)) and (found := self.remembered(folder, name)):
            return found
        if self._changed_since(folder, name, asked):
            return None
        if entry is None:
            until = asked[0] + self._freshness.absent
            self._note_absent(folder, name, until)
            if node:
                self.nodes.remove(node)
            return Found(None, until, asked)
        return Found(entry, asked[0] + self._freshness.seconds, asked)

    def _changed_since(self, folder: Node, name: str, asked: Moment) -> bool:
        """True if what lies there was changed here after the backend was asked."""
        if node := self.nodes.child(folder, name):
            return node.changed > asked
        absent = folder.absent.get(name, 0.0) if folder.absent else 0.0
        return absent > asked[0] + self._freshness.absent

    def refresh(self, node: Node) -> Entry:
        """What lies where the node is. Blocks; ESTALE if it is there no more, or another version of what is open."""
        with self.lock:
            folder, name = node.folder, node.name
        if folder is None:
            return self._refresh_top(node)
        found = self.find(folder, name)
        with self.lock:
            if self.entered(folder, found) is not node:
                raise failure(errno.ESTALE, name, "it was removed, or replaced by another version")
            return node.entry

    def entered(self, folder: Node, found: Found) -> Node | None:
        """The node of what was found; the caller holds the lock."""
        return self.enter(folder, found.entry, found.until, found.asked) if found.entry else None

    def enter(self, folder: Node, entry: Entry, until: float, asked: Moment) -> Node:
        """The node of what was told; the caller holds the lock.

        What was changed here since the backend was asked, or became known later, is as it is here: what was told
        before would take the name from who has it open.
        """
        node = self.nodes.child(folder, entry.name)
        # What only is here so far may have been uploaded since it was found.
        known = until == FOREVER or (node and (node.until > until or node.changed > asked))
        if node and (known or (node.staged and node.staged.dirty)):
            return node
        return self.nodes.enter(folder, entry, until)

    def list(self, folder: Node) -> Listing | None:
        """All that is in a folder, from memory or from the backend; None if that is too much. Blocks."""
        with self.lock:
            if folder.listing and self.good(folder.listing):
                return folder.listing
            if self._is_large(folder):
                return None
            done = Future[Listing | None]()
            under_way = self._listing.setdefault(folder.id, done)
        if under_way is not done:
            return under_way.result()
        try:
            listing = self._list(folder)
        except BaseException as error:
            self._listing.pop(folder.id)
            done.set_exception(error)
            raise
        self._listing.pop(folder.id)
        done.set_result(listing)
        return listing

    def listed(self, folder: Node) -> bool:
        """What is in it is known, or too much, or is just being asked. The caller holds the lock."""
        known = folder.listing and self.good(folder.listing)
        return bool(known) or folder.id in self._listing or self._is_large(folder)

    def good(self, listing: Listing) -> bool:
        return listing.until > self._monotonic()

    def page(self, path: str, rest: str) -> tuple[Sequence[Entry], str]:
        """Some of what is in a folder, and what asks for the following ones. Blocks."""
        page = self._backend.list(path, rest=rest, limit=_PAGE)
        return page.entries, page.rest

    def after(self, path: str, count: int) -> Sequence[Entry]:
        """What comes after a thing in the order of its folder, as far as that is known without asking anybody."""
        folder, _, name = path.rpartition("/")
        with self.lock:
            node = self.at(folder)
            listing = node.listing if node else None
            return listing.after(name, count) if listing else ()

    def put(self, folder: Node, name: str, entry: Entry, until: float | None = None) -> Node:
        """Something was made or changed here: what is known is so from now on. The caller holds the lock."""
        now = self._now_changed(folder, name)
        if folder.listing:
            folder.listing.put(entry)
        node = self.nodes.enter(folder, entry, now[0] + self._freshness.seconds if until is None else until)
        node.changed = now
        return node

    def ask_again(self, node: Node) -> None:
        """More must be asked of what was put there, before anybody is told of it. The caller holds the lock."""
        node.until = 0.0
        if node.folder and node.folder.listing:
            node.folder.listing.doubted.add(node.name)

    def drop(self, folder: Node, name: str) -> None:
        """Something was removed here. The caller holds the lock."""
        now = self._now_changed(folder, name)
        if folder.listing:
            folder.listing.drop(name)
        if node := self.nodes.child(folder, name):
            self.nodes.remove(node)
        self._note_absent(folder, name, now[0] + self._freshness.absent)

    def doubt(self, folder: Node) -> None:
        """What is in it is asked for again. The caller holds the lock."""
        folder.absent = None
        if folder.listing:
            folder.listing.until = 0.0

    def list_anew(self, path: str) -> None:
        """As `doubt`, for the nearest known folder of a path, also if it is being listed. The caller holds the lock."""
        folder = self.at(path)
        while folder is None:
            path = path.rpartition("/")[0]
            folder = self.at(path)
        self.doubt(folder)
        if folder.id in self._amid:
            self._overtaken.add(folder.id)

    def _now_changed(self, folder: Node, name: str) -> Moment:
        self._changes += 1
        folder.changed = self.moment()
        if (amid := self._amid.get(folder.id)) is not None:
            amid.add(name)
        if self._backend.capabilities.folders:
            # Its own times are others now.
            folder.until = 0.0
            if folder.folder and folder.folder.listing:
                folder.folder.listing.doubted.add(folder.name)
        if folder.absent:
            folder.absent.pop(name, None)
        return folder.changed

    def at(self, path: str) -> Node | None:
        """The node of a path, if there is one. The caller holds the lock."""
        node: Node | None = self.nodes[TOP]
        for name in path.split("/") if path else ():
            node = self.nodes.child(node, name) if node else None
        return node

    def _crowded(self, folder: Node) -> bool:
        """True once many names of the folder are asked for one by one, or if they were in its last list."""
        now = self._monotonic()
        with self.lock:
            last = folder.listing if folder.listing and len(folder.listing.entries) <= _PAGE else None
            if last and (last.was_crowded(self._freshness.crowd) or folder.id in self._listing):
                return True
            return self._crowds.asked(folder.id, now)

    def _ask(self, folder: Node, name: str) -> Found | None:
        """As `told`."""
        with self.lock:
            path = joined(folder.path, name)
            asked = self.moment()
        entry = None
        with suppress(FileNotFoundError, NotADirectoryError):
            entry = self._backend.stat(path)
        with self.lock:
            return self.told(folder, name, entry, asked)

    def _note_absent(self, folder: Node, name: str, until: float) -> None:
        now = self._monotonic()
        known = folder.absent or {}
        if len(known) > self._freshness.most // 10:
            known = {each: end for each, end in known.items() if end > now}
        known[name] = until
        folder.absent = known

    def _refresh_top(self, node: Node) -> Entry:
        if node.nameless:
            return node.entry
        begun = self._monotonic()
        entry = self._backend.stat("")
        if entry.kind is not Kind.FOLDER:
            raise failure(errno.ENOTDIR, "", "what is mounted is no folder any more")
        with self.lock:
            node.entry, node.until = entry, begun + self._freshness.seconds
        return entry

    def _list(self, folder: Node) -> Listing | None:
        attempt = 0
        while True:
            attempt += 1
            with self.lock:
                path, asked, changed = folder.path, self.moment(), set[str]()
                self._amid[folder.id] = changed
                self._overtaken.discard(folder.id)
            try:
                entries = self._all(path)
                if entries is None:
                    self._note_large(folder)
                    return None
                with self.lock:
                    listing = self._overlaid(folder, entries, asked, changed)
                    if folder.path == path and folder.id not in self._overtaken:
                        folder.listing = listing
                        return listing
            finally:
                # Not before it was looked at: somebody may change something while this waits for the lock.
                self._amid.pop(folder.id)
            if attempt == _ATTEMPTS:
                # It is renamed, or changed so, all the time: what was listed is good for this once.
                listing.until = 0.0
                return listing

    def _is_large(self, folder: Node) -> bool:
        return self._large.get(folder.id, 0.0) > self._monotonic()

    def _note_large(self, folder: Node) -> None:
        with self.lock:
            if len(self._large) > _MOST_LARGE:
                self._large.clear()
            self._large[folder.id] = self._monotonic() + _TOO_MUCH

    def _all(self, path: str) -> Sequence[Entry] | None:
        """All of what is in a folder; None if that is too much."""
        entries: list[Entry] = []
        rest = ""
        while True:
            page, rest = self.page(path, rest)
            entries += page
            if not rest:
                return entries
            if len(entries) > self._freshness.most:
                return None

    def _overlaid(self, folder: Node, entries: Sequence[Entry], asked: Moment, changed: Collection[str]) -> Listing:
        """With what was changed here since, or is only here so far."""
        until = asked[0] + self._freshness.seconds
        listing = Listing(entries, until, asked)
        for node in folder.within():
            if node.until > until:
                listing.put(node.entry)
        for name in changed:
            there = self.nodes.child(folder, name)
            if there is None:
                listing.drop(name)
                continue
            listing.put(there.entry)
            if not self.fresh(there):
                # What became of it the backend alone knows.
                listing.doubted.add(name)
        return listing
