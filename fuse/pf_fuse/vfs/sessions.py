"""Files that are open.

How the kernel reads a file is decided when it is opened and nobody else has it open, and stays so until nobody has: it
refuses to read one file in two ways. A file that is here as a whole is read by the kernel itself. Of others it asks for
what programs ask for, and whoever opens them later finds them whole. What is written is read by asking.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass

from pf_backends.errors import failure
from pf_fuse.operations import Kernel, Opened, Reach
from pf_fuse.vfs.nodes import Node, Nodes
from pf_fuse.vfs.ports import Content, Contents, Nothing


@dataclass(slots=True, eq=False)
class Session:
    """A file from the time that somebody opens it until nobody has it open."""

    node: Node
    content: Content
    """What the backend had."""
    reach: Reach = Reach.NOTHING
    backing: int = 0


class Sessions:
    """All of them. Whoever calls holds the lock of the tree, but for `at`."""

    def __init__(self, nodes: Nodes, contents: Contents) -> None:
        self._nodes = nodes
        self._contents = contents
        self._sessions: dict[int, Session] = {}
        self._kept: dict[int, str] = {}
        """Which version of files the kernel may have cached."""
        self._kernel: Kernel | None = None

    def begin(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def at(self, node: int) -> Session | None:
        return self._sessions.get(node)

    def open_to_read(self, node: Node) -> Opened:
        """Opened once more."""
        session = self._sessions.get(node.id) or self._first(node)
        self._nodes.open(node)
        quiet = Reach.NOTHING if node.staged else Reach.NO_FLUSH
        return Opened(session.reach | quiet, session.backing)

    def open_to_write(self, node: Node) -> Opened:
        """Opened once more; ESTALE if the kernel reads it by itself: its name is another node's from now on."""
        session = self._sessions.get(node.id)
        if session and session.backing:
            self._nodes.remove(node)
            raise failure(errno.ESTALE, node.name, "it is read as it was by those who have it open")
        if session is None:
            self._sessions[node.id] = Session(node, self._content(node))
        self._nodes.open(node)
        return Opened()

    def take_up(self, node: Node) -> Session:
        """The session of a file that was open when this process went on with the mount."""
        return self._sessions.get(node.id) or self._first(node)

    def close(self, node: Node) -> None:
        """Closed once."""
        self._nodes.close(node)

    def end(self, node: int) -> None:
        """Nobody has it open any more, and nothing is left to do with it."""
        session = self._sessions.pop(node, None)
        if session is None:
            return
        if session.backing and self._kernel:
            self._kernel.unregister(session.backing)
        session.content.close()

    def forget(self, node: int) -> None:
        """The kernel has nothing cached of it."""
        self._kept.pop(node, None)

    def end_all(self) -> None:
        for node in list(self._sessions):
            self.end(node)

    def _first(self, node: Node) -> Session:
        session = self._sessions[node.id] = Session(node, self._content(node))
        if not node.staged:
            session.reach, session.backing = self._way(node, session.content)
        return session

    def _content(self, node: Node) -> Content:
        return Nothing() if node.staged else self._contents.open(node.entry)

    def _way(self, node: Node, content: Content) -> tuple[Reach, int]:
        if not self._kernel or not self._kernel.passthrough:
            same = self._kept.get(node.id) == node.entry.version
            self._kept[node.id] = node.entry.version
            return Reach.KEEP_CACHE if same else Reach.NOTHING, 0
        whole = content.whole()
        if whole is None:
            return Reach.DIRECT, 0
        return Reach.NOTHING, self._kernel.register(whole)
