"""Files that are open.

How the kernel reads a file is decided when it is opened and nobody else has it open, and stays so until nobody has: it
refuses to read one file in two ways. A file that is here as a whole is read by the kernel itself. Of others it asks for
what programs ask for, and whoever opens them later finds them whole. What is written is read by asking, and what is
only written goes here past the kernel's own cache, which would have to find memory for all of it.

A small file that the kernel reads by itself stays registered when it is closed: who goes through many of them again and
again costs no more than to be told of the number.
"""

from __future__ import annotations

import errno
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from pf_backends.entries import Entry
from pf_backends.errors import failure
from pf_fuse.operations import Kernel, Opened, Reach
from pf_fuse.vfs.nodes import Node, Nodes
from pf_fuse.vfs.ports import Content, Contents, Nothing

_SMALL = 1 << 20
"""Bytes of a file that stays registered; its room on the disk is not free as long as it is."""
_GLANCES = 1024
"""Files that are read and of which nobody says when they are closed."""
_READY = 16_384
"""Files that stay registered."""


@dataclass(slots=True, eq=False)
class Session:
    """A file from the time that somebody opens it until nobody has it open."""

    node: Node
    content: Content
    """What the backend had."""
    reach: Reach = Reach.NOTHING
    left: list[Content] = field(default_factory=list)
    """Contents that somebody may still be reading from: the same bytes under names that they had before."""


class Sessions:
    """All of them. Whoever calls holds the lock of the tree, but for `at`."""

    def __init__(self, nodes: Nodes, contents: Contents) -> None:
        self._nodes = nodes
        self._contents = contents
        self._sessions: dict[int, Session] = {}
        self._ready: OrderedDict[int, Node] = OrderedDict()
        """Registered, and open by nobody."""
        self._glances = deque[Node]()
        self._kept: dict[int, str] = {}
        """Which version of files the kernel may have cached."""
        self.parting: dict[int, Future[None]] = {}
        """Files that are being renamed or removed, and what comes when it is known what became of them."""
        self._kernel: Kernel | None = None

    def begin(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._contents.begin(kernel)

    def alone(self) -> None:
        """The kernel asks nothing any more, and nobody hears others."""
        self._contents.alone()

    @property
    def unasked(self) -> bool:
        """True if the kernel does without asking to open files and folders."""
        return self._kernel is not None and self._kernel.zero_open

    def at(self, node: int) -> Session | None:
        return self._sessions.get(node)

    def at_once(self, node: Node) -> bool:
        """False if a file is better brought here before it is opened: the kernel could read it by itself then."""
        if not self._kernel or not self._kernel.passthrough or node.backing or node.staged:
            return True
        small = 0 < node.entry.size <= _SMALL
        return not small or node.id in self._sessions or self._contents.at_hand(node.entry)

    def before_opening(self, node: Node) -> Future[None] | None:
        """What whoever opens the file waits for; None: nothing, or others have it open, so that its bytes are kept."""
        return None if _is_used(node) else self.parting.get(node.id)

    def open_to_read(self, node: Node) -> Opened:
        """Opened once more; ESTALE if it is gone: its name may be another node's by now."""
        _require_there(node)
        if node.backing:
            self._ready.pop(node.id, None)
            node.opens += 1
            return Opened(Reach.NO_FLUSH, node.backing)
        session = self._sessions.get(node.id) or self._first(node)
        self._nodes.open(node, past=Reach.DIRECT in session.reach)
        quiet = Reach.NOTHING if node.staged else Reach.NO_FLUSH
        return Opened(session.reach | quiet, node.backing)

    def open_to_write(self, node: Node, *, only: bool) -> Opened:
        """Opened once more; ESTALE if the kernel reads it by itself: its name is another node's from now on.

        `only`: who opens it does not read it.
        """
        _require_there(node)
        self.require_asking(node)
        session = self._sessions.get(node.id)
        if session is None:
            session = self._sessions[node.id] = Session(node, self._content(node))
            session.reach = self._way_to_write(node, only=only)
        self._nodes.open(node, past=Reach.DIRECT in session.reach)
        # One with and one without the cache would not always see what the other has written.
        return Opened(session.reach & Reach.DIRECT)

    def past_the_cache(self, node: int) -> bool:
        """What is written to the open file goes past the kernel's cache."""
        session = self._sessions.get(node)
        return session is not None and Reach.DIRECT in session.reach

    def require_asking(self, node: Node) -> None:
        """ESTALE if somebody has it open whom the kernel reads it for by itself: the name is another node's then."""
        if not node.backing:
            return
        if node.opens:
            self._nodes.remove(node)
            raise failure(errno.ESTALE, node.name, "it is read as it was by those who have it open")
        self._ready.pop(node.id, None)
        self._unregister(node)

    def take_up(self, node: Node) -> Session:
        """The session of a file that was open when this process went on with the mount."""
        return self._sessions.get(node.id) or self._first(node)

    def borrow(self, node: Node) -> Content:
        """What the backend has of the file, whoever closes it meanwhile; the borrower closes this."""
        return self._contents.open(node.entry)

    def glance(self, node: Node) -> Session:
        """A session of a file that is opened and closed without asking: it lasts until many others were read."""
        session = self._sessions[node.id] = Session(node, self._content(node))
        self._glances.append(node)
        if len(self._glances) > _GLANCES:
            self.end(self._glances.popleft())
        return session

    def close(self, node: Node) -> None:
        """Closed once."""
        self._nodes.close(node)
        if not node.opens and node.backing:
            self._rest(node)

    def leave(self, node: Node) -> None:
        """Closed once, and the session ends with the last."""
        if node.opens <= 1:
            self.end(node)
        self.close(node)

    def end(self, node: Node) -> None:
        """Nobody has it open any more, and nothing is left to do with it."""
        session = self._sessions.pop(node.id, None)
        if session:
            for content in (session.content, *session.left):
                content.close()

    def carry(self, node: Node, entry: Entry) -> None:
        """The backend has the same bytes of a file that is open somewhere else, or as another version, from now on."""
        session = self._sessions.get(node.id)
        if session and not node.staged:
            session.left.append(session.content)
            session.content = self._contents.open(entry)
        if node.id in self._kept:
            self._kept[node.id] = entry.version
        self._nodes.carry(node, entry)

    def let_go(self, id_: int, times: int, finish: Callable[[Node], None]) -> None:
        """The kernel has let go of a node so many times; what was written to one that it knows no more is finished."""
        if node := self._nodes.forget(id_, times):
            finish(node)
            self.forget(node)
            self._nodes.clear(node)

    def forget(self, node: Node) -> None:
        """The kernel knows it no more, and has nothing cached of it."""
        self._kept.pop(node.id, None)
        self._ready.pop(node.id, None)
        self.end(node)
        if node.backing:
            self._unregister(node)

    def end_all(self) -> None:
        """The mount is gone."""
        for session in list(self._sessions.values()):
            self.end(session.node)
        self._nodes.close_all()

    def _rest(self, node: Node) -> None:
        """Nobody has open what the kernel reads by itself."""
        if node.entry.size > _SMALL or node.nameless:
            self._unregister(node)
            return
        self._ready[node.id] = node
        if len(self._ready) > _READY:
            self._unregister(self._ready.popitem(last=False)[1])

    def _unregister(self, node: Node) -> None:
        backing = node.backing
        # Written down before: the number may be another file's right after.
        self._nodes.back(node, 0)
        if self._kernel:
            self._kernel.unregister(backing)

    def _first(self, node: Node) -> Session:
        session = self._sessions[node.id] = Session(node, self._content(node))
        written = node.staged is not None
        session.reach = self._way_to_write(node, only=True) if written else self._way(node, session.content)
        return session

    @property
    def _past_the_cache(self) -> Reach:
        """Where the kernel can map into memory what it does not cache."""
        return Reach.DIRECT if self._kernel and self._kernel.passthrough else Reach.NOTHING

    def _content(self, node: Node) -> Content:
        return Nothing() if node.staged else self._contents.open(node.entry)

    def _way_to_write(self, node: Node, *, only: bool) -> Reach:
        if node.opens:
            return _way_before(node)
        return self._past_the_cache if only else Reach.NOTHING

    def _way(self, node: Node, content: Content) -> Reach:
        if not self._kernel or not self._kernel.passthrough:
            same = self._kept.get(node.id) == node.entry.version
            self._kept[node.id] = node.entry.version
            return Reach.KEEP_CACHE if same else Reach.NOTHING
        if node.opens:
            return _way_before(node)
        whole = content.whole()
        if whole is None:
            return Reach.DIRECT
        try:
            self._nodes.back(node, self._kernel.register(whole))
        except OSError as refused:
            # This folder of the cache lies on a filesystem that is itself stacked, such as overlayfs; or whoever has
            # the right to register files is gone, and the next one is not there yet.
            if refused.errno not in {errno.ELOOP, errno.EPERM}:
                raise
            return Reach.DIRECT
        return Reach.NOTHING


def _way_before(node: Node) -> Reach:
    """How it was opened when another process served the mount: the kernel refuses another way while it is open."""
    return Reach.DIRECT if node.past else Reach.NOTHING


def _is_used(node: Node) -> bool:
    """True if somebody has it open, or its bytes are here."""
    return bool(node.opens or node.backing or node.staged)


def _require_there(node: Node) -> None:
    if node.unlinked and not _is_used(node):
        raise failure(errno.ESTALE, node.name, "it was removed, or replaced by another version")


def version_here(node: Node) -> str:
    """The version of the backend's that is open, or that is written to."""
    return node.staged.made_of if node.staged else node.entry.version
