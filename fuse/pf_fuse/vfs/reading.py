"""Opening files to read them, and reading."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from functools import partial

from pf_backends.entries import Entry
from pf_backends.errors import failure
from pf_fuse.arriving import once, unless_failed
from pf_fuse.operations import Answer, Bytes, Opened
from pf_fuse.vfs.nodes import Node
from pf_fuse.vfs.ports import Content, Contents
from pf_fuse.vfs.sessions import Session, Sessions
from pf_fuse.vfs.tree import Tree

_NOT_THERE = {errno.ENOENT, errno.ESTALE}


class Reading:
    """The operations that read files."""

    def __init__(
        self, tree: Tree, sessions: Sessions, contents: Contents, workers: Executor, *, unasked: bool = False
    ) -> None:
        """`unasked`: the kernel is to open files without asking, and to keep what it has read of them."""
        self._tree = tree
        self._nodes = tree.nodes
        self._lock = tree.lock
        self._sessions = sessions
        self._contents = contents
        self._later = workers.submit
        self._unasked = unasked

    def open(self, node: int) -> Answer[Opened]:
        if self._unasked and self._sessions.unasked:
            raise failure(errno.ENOSYS, "", "the kernel takes that for: open what you like")
        with self._lock:
            known = self._nodes[node]
            if parting := self._sessions.before_opening(known):
                return once(parting, partial(self.open, node))
            self._tree.opened(known)
            if not (known.nameless or self._tree.fresh(known)):
                return self._later(self._refreshed, known)
            if self._sessions.at_once(known):
                return self._sessions.open_to_read(known)
            entry = known.entry
        if coming := self._contents.coming(entry):
            return once(coming.found, lambda: self._came(known, coming.found))
        return self._later(self._brought, known)

    def read(self, node: int, offset: int, size: int) -> Answer[Bytes]:
        session = self._sessions.at(node)
        if session is None:
            with self._lock:
                known = self._nodes[node]
                if self._unasked and not self._tree.fresh(known):
                    # The process before told the kernel of it, and this one knows no more than its name.
                    return self._later(self._read_refreshed, known, offset, size)
                session = self._taken_up(known)
        return self._read(session, offset, size)

    def release(self, node: int) -> None:
        with self._lock:
            self._sessions.leave(self._nodes[node])

    def lseek(self, node: int, offset: int, whence: int) -> Answer[int]:
        with self._lock:
            known = self._nodes[node]
            if staged := known.staged:
                return os.lseek(staged.descriptor, offset, whence)
            size = known.entry.size
        if offset >= size:
            raise failure(errno.ENXIO, "", "there is nothing at the offset or after it")
        return offset if whence == os.SEEK_DATA else size

    def forget(self, nodes: Sequence[tuple[int, int]], finish: Callable[[Node], None]) -> None:
        """Of what the kernel knows no more, what was written is finished."""
        with self._lock:
            for id_, times in nodes:
                self._sessions.let_go(id_, times, finish)

    def _refreshed(self, node: Node) -> Opened:
        self._tree.refresh(node)
        return self._brought(node)

    def _brought(self, node: Node) -> Opened:
        """A small file that is here as a whole when it is opened needs nobody to read it."""
        with self._lock:
            entry = None if self._sessions.at_once(node) else node.entry
        if entry:
            self._contents.bring(entry)
        while True:
            with self._lock:
                parting = self._sessions.before_opening(node)
                if parting is None:
                    return self._sessions.open_to_read(node)
            parting.result()

    def _came(self, node: Node, coming: Future[Entry | None]) -> Answer[Opened]:
        """Fails as bringing it has."""
        found = coming.result()
        with self._lock:
            parting = self._sessions.before_opening(node)
            if parting is None and (found or self._sessions.at_once(node)):
                return self._sessions.open_to_read(node)
        # Nobody may wait here for it to be read and checked.
        return self._later(self._brought, node)

    def _read_refreshed(self, node: Node, offset: int, size: int) -> Bytes:
        self._tree.refresh(node)
        with self._lock:
            session = self._taken_up(node)
        answer = self._read(session, offset, size)
        return answer.result() if isinstance(answer, Future) else answer

    def _taken_up(self, node: Node) -> Session:
        """Of a file whose opening was not asked for, or was by the process before. The caller holds the lock."""
        return self._sessions.glance(node) if self._unasked else self._sessions.take_up(node)

    def _read(self, session: Session, offset: int, size: int) -> Answer[Bytes]:
        if staged := session.node.staged:
            return os.pread(staged.descriptor, size, offset)
        content = session.content
        try:
            answer = content.read(offset, size)
        except OSError as error:
            return self._read_again(session, content, offset, size, error)
        if isinstance(answer, Future):
            return unless_failed(answer, partial(self._read_again, session, content, offset, size))
        return answer

    def _read_again(self, session: Session, content: Content, offset: int, size: int, error: OSError) -> Answer[Bytes]:
        """What was renamed, or brought here, meanwhile is read where it is by now."""
        if error.errno not in _NOT_THERE:
            raise error
        with self._lock:
            elsewhere = session.node.staged or session.content is not content
            parting = self._sessions.parting.get(session.node.id)
        if elsewhere:
            return self._read(session, offset, size)
        if parting:
            return once(parting, partial(self._read_again, session, content, offset, size, error))
        raise error
