"""What lies under names and in folders."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future

from pf_backends.entries import Entry, Kind, Space
from pf_backends.errors import failure
from pf_fuse.arriving import settle
from pf_fuse.coming import Coming
from pf_fuse.operations import Answer, Caller, Known, Named, Opened, Reach
from pf_fuse.vfs.attributes import Look, attributes
from pf_fuse.vfs.folders import Folders, Source, before, place
from pf_fuse.vfs.freshness import Found, Moment
from pf_fuse.vfs.nodes import Node
from pf_fuse.vfs.ports import Contents
from pf_fuse.vfs.tree import Tree
from pf_fuse.vfs.walks import Walks

NAME_MOST = 255
"""Bytes of a name."""
MOST_NODES = 200_000
"""Nodes beyond which lists of folders tell names alone; about 1 kB each."""
_BLOCK = 4096
_UNTOLD = Known(None, 0.0, 0.0)
_ENDLESS = Space(1 << 50, 1 << 50, 1 << 40, 1 << 40)
"""What is told of room where there is no telling."""


class Looking:
    """The operations that change nothing and need no file open."""

    def __init__(
        self,
        tree: Tree,
        workers: Executor,
        look: Look,
        contents: Contents,
        space: Callable[[], Space | None],
        unasked: Callable[[], bool],
        most_nodes: int = MOST_NODES,
    ) -> None:
        """`unasked`: the kernel is to open folders without asking, and to keep what it has read of them."""
        self._tree = tree
        self._nodes = tree.nodes
        self._lock = tree.lock
        self._folders = Folders(tree)
        self._walks = Walks(tree.listed)
        self._later = workers.submit
        self._look = look
        self._contents = contents
        self._space = space
        self._unasked = unasked
        self._most_nodes = most_nodes

    def lookup(self, caller: Caller, folder: int, name: bytes) -> Answer[Known]:  # noqa: ARG002
        text = text_of(name)
        with self._lock:
            above = self._nodes[folder]
            if found := self._tree.remembered(above, text):
                return self._told(above, found)
            expected, begun = self._tree.expected(above, text), self._tree.moment()
        if expected is None:
            return self._later(self._find, above, text)
        if coming := self._contents.coming(expected):
            return self._when(coming, above, text, begun)
        return self._later(self._brought, above, expected)

    def getattr(self, caller: Caller, node: int) -> Answer[Known]:  # noqa: ARG002
        with self._lock:
            known = self._nodes[node]
            if known.nameless or self._tree.fresh(known):
                return self.known(known)
        return self._later(self._refreshed, known)

    def readlink(self, caller: Caller, node: int) -> Answer[bytes]:  # noqa: ARG002
        with self._lock:
            entry = self._nodes[node].entry
        if entry.kind is not Kind.LINK:
            raise failure(errno.EINVAL, entry.path, "it is no link")
        return os.fsencode(entry.target)

    def opendir(self, caller: Caller, node: int) -> Answer[Opened]:  # noqa: ARG002
        if self._unasked():
            raise failure(errno.ENOSYS, "", "the kernel takes that for: open what you like")
        with self._lock:
            seen = self._folders.open(self._nodes[node])
        return Opened(Reach.CACHE_FOLDER | Reach.KEEP_CACHE if seen else Reach.CACHE_FOLDER)

    def readdir(self, node: int, place: int, count: int) -> Answer[Sequence[Named]]:
        with self._lock:
            known = self._nodes[node]
            found = self._folders.source(known, place)
            ahead = () if place else self._walks.read(known, self._nodes.child)
            answer: Answer[Sequence[Named]]
            if found and found[1].at_hand(before(place)):
                answer = self._named(known, found, before(place), count)
            else:
                answer = self._later(self._read_folder, known, place, count)
        for each in ahead:
            self._later(self._list_ahead, each)
        return answer

    def releasedir(self, node: int) -> None:
        with self._lock:
            self._folders.close(node)

    def statfs(self, node: int) -> Answer[os.statvfs_result]:  # noqa: ARG002
        return self._later(self._told_space)

    def known(self, node: Node) -> Known:
        """What the kernel is told of a node's attributes; the caller holds the lock."""
        lasts = self._tree.lasts(node.until)
        shown = node.shown
        if shown is None or shown[0] is not node.entry:
            shown = node.shown = node.entry, attributes(node.id, node.entry, self._look)
        if node.nameless:
            return Known(shown[1]._replace(links=0), lasts, lasts)
        if node.staged and node.staged.dirty:
            # Its upload gives it another time.
            return Known(shown[1], lasts, 0.0)
        return Known(shown[1], lasts, lasts)

    def told(self, node: Node) -> Known:
        """The same when the kernel gets to know the node by its name."""
        self._nodes.tell(node)
        return self.known(node)

    def _told(self, folder: Node, found: Found) -> Known:
        node = self._tree.entered(folder, found)
        return self.told(node) if node else Known(None, self._tree.lasts(found.until), 0.0)

    def _remembered(self, folder: Node, name: str) -> Known | None:
        with self._lock:
            found = self._tree.remembered(folder, name)
            return self._told(folder, found) if found else None

    def _find(self, folder: Node, name: str) -> Known:
        found = self._tree.find(folder, name)
        with self._lock:
            return self._told(folder, found)

    def _brought(self, folder: Node, expected: Entry) -> Known:
        """What lies under a name, and comes along with its bytes."""
        begun = self._tree.moment()
        entry = self._contents.bring(expected)
        known = self._came(folder, entry, begun) if entry else None
        return known or self._find(folder, expected.name)

    def _came(self, folder: Node, entry: Entry, asked: Moment) -> Known | None:
        """None if it was changed here meanwhile, so that the backend must be asked."""
        with self._lock:
            found = self._tree.told(folder, entry.name, entry, asked)
            return self._told(folder, found) if found else None

    def _when(self, coming: Coming, folder: Node, name: str, begun: Moment) -> Future[Known]:
        """The same when somebody else brings it."""
        answer = Future[Known]()

        def known() -> Known | None:
            entry = coming.found.result()
            return self._came(folder, entry, min(begun, (coming.since, 0))) if entry else self._remembered(folder, name)

        def came(_: Future[Entry | None]) -> None:
            # If the backend has to be asked, whoever brings things is not to wait for that.
            settle(answer, lambda: known() or self._later(self._find, folder, name))

        coming.found.add_done_callback(came)
        return answer

    def _list_ahead(self, folder: Node) -> None:
        try:
            self._tree.list(folder)
        finally:
            with self._lock:
                self._walks.ended()

    def _refreshed(self, node: Node) -> Known:
        try:
            self._tree.refresh(node)
        except OSError as error:
            with self._lock:
                # Who has it open goes on with what was opened, whatever lies there now.
                if error.errno == errno.ESTALE and node.nameless and node.opens:
                    return self.known(node)
            raise
        with self._lock:
            return self.known(node)

    def _read_folder(self, folder: Node, place: int, count: int) -> Sequence[Named]:
        with self._lock:
            found = self._folders.source(folder, place)
        found = found or self._folders.begin(folder)
        if not found[1].at_hand(before(place)):
            found[1].after(before(place), count)
        with self._lock:
            return self._named(folder, found, before(place), count)

    def _named(self, folder: Node, found: tuple[int, Source], start: int, count: int) -> Sequence[Named]:
        number, source = found
        things = source.after(start, count)
        if not things:
            source.ended()
        if len(self._nodes) > self._most_nodes:
            return [Named(os.fsencode(entry.name), place(number, after), _UNTOLD) for entry, after in things]
        nodes = [self._tree.enter(folder, entry, source.until, source.asked) for entry, _ in things]
        self._nodes.tell(*nodes)
        return [
            Named(os.fsencode(node.name), place(number, after), self.known(node))
            for node, (_, after) in zip(nodes, things, strict=True)
        ]

    def _told_space(self) -> os.statvfs_result:
        space = self._space() or _ENDLESS
        blocks, free = space.size // _BLOCK, space.free // _BLOCK
        # In the order of statvfs: sizes of blocks, blocks, things, flags, the longest name.
        fields = (_BLOCK, _BLOCK, blocks, free, free, space.things, space.things_free, space.things_free, 0, NAME_MOST)
        return os.statvfs_result(fields)


def text_of(name: bytes) -> str:
    """A name as paths have it; ENAMETOOLONG if it is too long."""
    text = os.fsdecode(name)
    if len(name) > NAME_MOST:
        raise failure(errno.ENAMETOOLONG, text, f"a name has at most {NAME_MOST} bytes")
    return text
