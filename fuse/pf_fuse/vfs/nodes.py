"""The things of a mount that the kernel may ask for, by number and by name."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable, Collection, Iterator

from pf_backends.entries import ROOT, Entry, Kind
from pf_backends.errors import changed, failure
from pf_fuse.operations import TOP, Attributes
from pf_fuse.staging.staged import Stage, Staged
from pf_fuse.vfs.freshness import NEVER
from pf_fuse.vfs.journal import Backed, Closed, Forgotten, Journal, NamedAt, OpenAt, Record, StagedIn
from pf_fuse.vfs.listings import Listing
from pf_fuse.vfs.records import UNLINKED, named, opened, written_here

logger = logging.getLogger(__name__)

FOREVER = float("inf")
_JOURNAL = 2 << 20
"""Bytes of the journal that are never too many: programs wait a quarter of a second for whoever reads them."""
UNKNOWN = 1 << 30
"""Opens of what was open when this process went on with the mount: as many as the kernel knows. It stays open until the
kernel forgets it, which it does of nothing that is open.
"""


class Node:
    """A thing; what can be told of it changes while it stays the same."""

    __slots__ = (
        "__weakref__",
        "absent",
        "backing",
        "changed",
        "children",
        "entry",
        "folder",
        "id",
        "listing",
        "name",
        "opens",
        "past",
        "shown",
        "staged",
        "told",
        "unlinked",
        "until",
    )

    def __init__(self, id_: int, folder: Node | None, name: str, entry: Entry, until: float) -> None:
        self.id = id_
        self.folder = folder
        """Where its name is; None for the top, and for what has no name any more."""
        self.name = name
        self.entry = entry
        """What lay there when the backend was asked last; of an open file: the version that is open."""
        self.until = until
        """Until when nobody needs ask again, by the monotonic clock."""
        self.changed = NEVER
        """When it, or what is in it, was last changed here: what the backend told before does not count."""
        self.told = 0
        """How often the kernel was told of it and has not let go of it."""
        self.opens = 0
        self.past = False
        """Who has it open reads and writes it past the kernel's cache."""
        self.backing = 0
        """By which the kernel reads this version by itself; 0 if it does not."""
        self.unlinked = False
        """True if it was removed here: what is written to it needs not be kept."""
        self.shown: tuple[Entry, Attributes] | None = None
        """The attributes that the kernel was told, and what they were made of."""
        self.staged: Staged | None = None
        """Where it is written, if it is."""
        self.children: dict[str, Node] | None = None
        """Of the things in a folder, those that are nodes."""
        self.listing: Listing | None = None
        """What is in a folder, when somebody has listed it."""
        self.absent: dict[str, float] | None = None
        """Names in a folder under which there was nothing, and until when that holds."""

    @property
    def path(self) -> str:
        """Where it lies; Changed if it has no name any more."""
        names: list[str] = []
        node = self
        while node.folder is not None:
            names.append(node.name)
            node = node.folder
        if node.id != TOP:
            raise changed(self.name, "it was removed, or replaced by another version")
        return "/".join(reversed(names))

    @property
    def nameless(self) -> bool:
        return self.folder is None and self.id != TOP

    def within(self) -> Iterator[Node]:
        """The nodes in it."""
        return iter((self.children or {}).values())


class Nodes:
    """All nodes. Whoever calls holds the lock of the tree."""

    def __init__(self, journal: Journal, stage: Stage, *, resumed: bool = True) -> None:
        """`resumed`: the kernel goes on with what the process before told it; else it knows nothing yet."""
        self._journal = journal
        self.stage = stage
        self._most = _JOURNAL
        self._next = TOP + 1
        top = Node(TOP, None, "", Entry(ROOT, Kind.FOLDER), 0.0)
        top.told = 1
        self._nodes = {TOP: top}
        self._take_up(resumed=resumed)

    def __len__(self) -> int:
        return len(self._nodes)

    def __getitem__(self, id_: int) -> Node:
        node = self._nodes.get(id_)
        if node is None:
            raise failure(errno.ESTALE, "", "nobody knows of it any more")
        return node

    def child(self, folder: Node, name: str) -> Node | None:
        return folder.children.get(name) if folder.children else None

    def enter(self, folder: Node, entry: Entry, until: float) -> Node:
        """The node of what lies in a folder; of a file that is open, another version is another node."""
        name = entry.name
        node = self.child(folder, name)
        if node and _differs(node, entry):
            self.remove(node)
            node = None
        if node is None:
            return self._add(self._number(), folder, name, entry, until)
        node.entry, node.until = entry, until
        return node

    def tell(self, *nodes: Node) -> None:
        """The kernel is told of nodes, each once more; a process that goes on with the mount knows them too."""
        if new := [node for node in nodes if not node.told and node.id != TOP]:
            self._journal.put(map(named, new))
        for node in nodes:
            node.told += 1
        if self._journal.size > self._most:
            self._rewrite()

    def open(self, node: Node, *, past: bool) -> None:
        """The kernel has the node open once more; of a file this version, and this way, stays what it reads."""
        if not node.opens and not node.backing:
            node.past = past
            self._note(node, opened(node))
        node.opens += 1

    def close(self, node: Node) -> None:
        node.opens = max(UNKNOWN if node.opens >= UNKNOWN else 0, node.opens - 1)
        if not node.opens and not node.backing:
            self._journal.put([Closed(node.id)])
            self.clear(node)

    def back(self, node: Node, backing: int) -> None:
        """From now on the kernel reads this version by itself, or with 0 does so no more."""
        node.backing = backing
        node.past = node.past and not backing
        open_ = node.opens or backing
        self._note(node, Backed(node.id, backing), opened(node) if open_ else Closed(node.id))
        self.clear(node)

    def forget(self, id_: int, times: int) -> Node | None:
        """The kernel has let go of a node so many times; the node if it knows it no more, which is to be cleared."""
        node = self._nodes.get(id_)
        if node is None or node.id == TOP:
            return None
        node.told = max(0, node.told - times)
        if node.told:
            return None
        if node.opens >= UNKNOWN:
            node.opens = 0
            self._journal.put([Closed(id_)])
        return node

    def clear(self, node: Node) -> None:
        """Lets go of a node that nobody needs any more, and of the folders above that were kept for it."""
        while node.id != TOP and not _needed(node):
            above = node.folder
            self.unname(node)
            if self._nodes.pop(node.id, None):
                self._journal.put([Forgotten(node.id)])
            if above is None:
                return
            node = above

    def move(self, node: Node, folder: Node, name: str) -> None:
        """The node has another name from now on; what had that has none any more."""
        if (old := self.child(folder, name)) and old is not node:
            self.remove(old)
        self.unname(node)
        self._name(node, folder, name)
        if node.told:
            self._journal.put([named(node)])

    def all(self) -> Collection[Node]:
        return self._nodes.values()

    def begin(self, node: Node, staged: Staged) -> None:
        """The file is written here from now on, unless that cannot be written down."""
        self._note(node, written_here(node, staged))
        node.staged = staged

    def arrived(self, node: Node, staged: Staged, entry: Entry) -> None:
        """The backend has what was written."""
        staged.arrived(entry)
        self.staged_otherwise(node, staged)

    def carry(self, node: Node, entry: Entry) -> None:
        """The backend has the same bytes of an open file somewhere else, or as another version."""
        staged = node.staged
        if staged:
            staged.carry(entry)
            self.staged_otherwise(node, staged)
        if staged is None or not staged.dirty:
            node.entry = entry
        if node.opens or node.backing:
            self._note(node, opened(node))

    def staged_otherwise(self, node: Node, staged: Staged) -> None:
        """Something else is known of what is written here: what the backend has of it, and is to keep beside it."""
        self._journal.put([written_here(node, staged)])

    def owed(self, node: Node, staged: Staged) -> Callable[[], None]:
        """Written down: it will be uploaded. What is given has that outlive the machine; call it without the lock."""
        staged.owed = True
        self.staged_otherwise(node, staged)
        return self._journal.syncing()

    def end(self, node: Node) -> None:
        """The file is written here no more."""
        if node.staged:
            # Together: the next process would take it for the version that was open before it was written.
            still = [opened(node)] if node.opens or node.backing else []
            self._journal.put([StagedIn(node.id, ""), *still])
            self.stage.end(node.staged)
            node.staged = None
            self.clear(node)

    def abandon(self, node: Node) -> None:
        """It could not be made in the end: the next process misses what is written down of it."""
        if node.staged:
            self.stage.end(node.staged)
            node.staged = None

    def close_all(self) -> None:
        """Nobody has anything open any more, also of what a process before could not tell: what was uploaded goes."""
        for node in self._nodes.values():
            node.opens = 0
        self._drop_finished()

    def remove(self, node: Node) -> None:
        """No name leads to the node any more; whoever has it open goes on with it."""
        self.unname(node)
        if node.opens or node.backing or node.staged:
            self._journal.put([named(node)])
        self.clear(node)

    def _note(self, node: Node, *records: Record) -> None:
        """Writes down something of a node, of which nothing may have been written before."""
        self._journal.put(records if node.told else [named(node), *records])

    @staticmethod
    def unname(node: Node) -> None:
        if node.folder and node.folder.children:
            node.folder.children.pop(node.name, None)
        node.folder = None

    def _add(self, id_: int, folder: Node, name: str, entry: Entry, until: float) -> Node:
        node = self._nodes[id_] = Node(id_, None, name, entry, until)
        self._name(node, folder, name)
        return node

    @staticmethod
    def _name(node: Node, folder: Node, name: str) -> None:
        if folder.children is None:
            folder.children = {}
        node.folder, node.name = folder, name
        folder.children[name] = node

    def _number(self) -> int:
        self._next += 1
        return self._next - 1

    def _take_up(self, *, resumed: bool) -> None:
        """What the kernel was told of by the process before.

        How often it was told, the kernel alone knows: one time of each keeps what it still knows, until it forgets it.
        """
        for record in self._journal.read():
            self._take(record)
        with self._journal.holding():
            if not resumed:
                self._begin_anew()
            self._drop_finished()
        for node in self._nodes.values():
            if node.staged:
                node.entry = node.staged.entry(node.entry.path if node.nameless else node.path)
                # It has what the backend may not have yet.
                node.until = FOREVER if node.staged.dirty and not node.nameless else 0.0
        self._rewrite()
        self.stage.clear({node.staged.file.name for node in self._nodes.values() if node.staged})

    def _begin_anew(self) -> None:
        """Of what was before only that counts which was written and not uploaded.

        The kernel has other files, or none, under the numbers by which it read files by itself.
        """
        nodes = [node for node in self._nodes.values() if node.id != TOP]
        for node in nodes:
            node.told = node.opens = node.backing = 0
        for node in nodes:
            self.clear(node)

    def _drop_finished(self) -> None:
        """Lets go of files that nobody has open and that need no upload: the backend may have others by now."""
        for node in list(self._nodes.values()):
            if node.staged and not node.opens and (node.unlinked or not node.staged.dirty):
                self.end(node)

    def _rewrite(self) -> None:
        """The journal tells of what is known now, and of nothing that was; on a full disk it goes on as it is."""
        try:
            self._journal.replace(list(self._records()))
        except OSError as error:
            logger.warning("a journal stays longer than it needs to be", extra={"why": str(error)})
        self._most = max(_JOURNAL, 2 * self._journal.size)

    def _take(self, record: Record) -> None:
        match record:
            case NamedAt(id_, folder, kind, name):
                self._take_name(id_, self._nodes.get(folder), kind, os.fsdecode(name)).unlinked = folder == UNLINKED
            case Forgotten(id_) if node := self._nodes.pop(id_, None):
                self.unname(node)
            case OpenAt(id_, path, version, size, modified, past) if node := self._nodes.get(id_):
                node.entry = Entry(os.fsdecode(path), node.entry.kind, size, modified, version)
                node.opens, node.past = UNKNOWN, past
            case Closed(id_) if node := self._nodes.get(id_):
                node.opens = 0
            case Backed(id_, backing) if node := self._nodes.get(id_):
                node.backing = backing
            case StagedIn(id_, file) if node := self._nodes.get(id_):
                if node.staged:
                    os.close(node.staged.descriptor)
                node.staged = self.stage.take_up(file, record) if file else None

    def _take_name(self, id_: int, folder: Node | None, kind: Kind, name: str) -> Node:
        self._next = max(self._next, id_ + 1)
        node = self._nodes.get(id_)
        if node is None:
            node = self._nodes[id_] = Node(id_, None, name, Entry(name, kind), 0.0)
            node.told = 1
        self.unname(node)
        if folder:
            if old := self.child(folder, name):
                self.unname(old)
            self._name(node, folder, name)
        return node

    def _records(self) -> Iterator[Record]:
        """All that is known, folders before what is in them."""
        waiting = [self._nodes[TOP], *(node for node in self._nodes.values() if node.nameless)]
        while waiting:
            node = waiting.pop()
            if node.id != TOP:
                yield named(node)
            if node.opens or node.backing:
                yield opened(node)
            if node.backing:
                yield Backed(node.id, node.backing)
            if node.staged:
                yield written_here(node, node.staged)
            waiting += node.within()


def _needed(node: Node) -> bool:
    return bool(node.told or node.opens or node.backing or node.children or node.staged)


def _differs(node: Node, entry: Entry) -> bool:
    """True if the thing cannot be what the node is: the kernel would mix the bytes of two versions."""
    if node.entry.kind != entry.kind:
        return True
    return bool(node.opens or node.backing or node.staged) and node.entry.version != entry.version
