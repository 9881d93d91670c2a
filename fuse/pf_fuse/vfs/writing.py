"""Writing files.

What is written lies on the local disk until the file is flushed, which each close does. The first thing that is written
to a file brings here what it has. While a file is uploaded, whoever would write to it waits.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pf_backends.entries import Entry, Facts, Kind
from pf_backends.errors import failure
from pf_backends.paths import joined
from pf_fuse.operations import Answer, Caller, Known, Opened
from pf_fuse.staging.staged import Staged
from pf_fuse.staging.uploading import Uploader
from pf_fuse.vfs.looking import Looking, text_of
from pf_fuse.vfs.nodes import FOREVER, UNKNOWN, Node
from pf_fuse.vfs.sessions import Sessions
from pf_fuse.vfs.tree import Tree

_PIECE = 4 << 20
"""Bytes of a file that are brought here at once."""

T = TypeVar("T")
logger = logging.getLogger(__name__)


class Writing:
    """The operations that change what files have."""

    def __init__(
        self,
        tree: Tree,
        looking: Looking,
        sessions: Sessions,
        uploader: Uploader,
        workers: Executor,
        *,
        keeps: bool,
        aside: Path,
    ) -> None:
        self._tree = tree
        self._nodes = tree.nodes
        self._lock = tree.lock
        self._looking = looking
        self._sessions = sessions
        self._uploader = uploader
        self._later = workers.submit
        self._keeps = keeps
        """True if the backend keeps permissions and owners."""
        self._aside = aside
        """Where goes what cannot be uploaded."""

    def create(self, caller: Caller, folder: int, name: bytes, mode: int, flags: int) -> Answer[tuple[Known, Opened]]:
        text = text_of(name)
        with self._lock:
            above = self._nodes[folder]
            found = self._tree.remembered(above, text)
            if found and found.entry is None:
                return self._created(caller, above, text, mode, flags)
        return self._later(self._find_and_create, caller, above, text, mode, flags)

    def open(self, node: int, flags: int) -> Answer[Opened]:
        with self._lock:
            known = self._nodes[node]
            if known.staged or known.nameless or self._tree.fresh(known):
                return self._opened(known, flags)
        return self._later(self._refreshed, known, flags)

    def write(self, node: int, offset: int, data: memoryview) -> Answer[int]:
        known = self._nodes[node]
        staged = known.staged
        if staged and not staged.upload:
            return self._written(known, staged, offset, data)
        return self._later(self._bring_and_write, known, offset, bytes(data))

    def flush(self, node: int) -> Answer[None]:
        with self._lock:
            known = self._nodes[node]
            if not _waits(known):
                return None
        return self._later(self._upload, known)

    def release(self, node: int) -> Answer[None]:
        with self._lock:
            known = self._nodes[node]
            if known.opens <= 1 and _waits(known):
                return self._later(self._upload_and_end, known)
            self._end(known)
            return None

    def forgotten(self, node: Node) -> None:
        """The kernel knows it no more. The caller holds the lock."""
        if _waits(node):
            self._later(self._upload_and_end, node)
        elif node.staged:
            self._nodes.end(node)

    def truncate(self, node: int, size: int) -> Answer[Known]:
        with self._lock:
            known = self._nodes[node]
            self._sessions.require_asking(known)
        return self._later(self._truncate, known, size)

    def fallocate(self, node: int, mode: int, offset: int, length: int) -> Answer[None]:
        if mode:
            raise failure(errno.EOPNOTSUPP, "", "holes cannot be made in files here")
        return self._later(self._allocate, self._nodes[node], offset, length)

    def make(self, caller: Caller, folder: Node, name: str, mode: int) -> Known:
        """An empty file that the backend has. Blocks."""
        if self._tree.find(folder, name).entry:
            raise failure(errno.EEXIST, name, "there is something of this name already")
        with self._lock:
            node = self._new(caller, folder, name, mode, os.O_EXCL)
            self._nodes.tell(node)
        self._upload_and_end(node)
        with self._lock:
            return self._looking.known(node)

    def settle(self, node: Node) -> None:
        """The backend has all that was written to the file so far. Blocks."""
        with self._lock:
            waiting = _waits(node)
        if waiting:
            self._upload(node)

    @contextmanager
    def leaving(self, node: Node | None) -> Iterator[None]:
        """What was written to the file needs not be kept if the block succeeds; nothing is uploaded amid it. Blocks."""
        if node is None:
            yield
            return
        with self._lock:
            node.unlinked = True
            upload = node.staged.upload if node.staged else None
        if upload:
            upload.exception()
        try:
            yield
        except BaseException:
            node.unlinked = False
            raise

    def finish(self) -> None:
        """The backend has all that was written; fails with the first thing that it does not take. Blocks."""
        with self._lock:
            waiting = [node for node in self._nodes.all() if _waits(node)]
        failures = list[OSError]()
        for node in waiting:
            try:
                self._upload(node)
            except OSError as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def _find_and_create(self, caller: Caller, folder: Node, name: str, mode: int, flags: int) -> tuple[Known, Opened]:
        found = self._tree.find(folder, name)
        with self._lock:
            if found.entry is None:
                return self._created(caller, folder, name, mode, flags)
            if flags & os.O_EXCL:
                raise failure(errno.EEXIST, name, "there is something of this name already")
            node = self._tree.enter(folder, found.entry, found.until)
            return self._looking.told(node), self._opened(node, flags)

    def _created(self, caller: Caller, folder: Node, name: str, mode: int, flags: int) -> tuple[Known, Opened]:
        node = self._new(caller, folder, name, mode, flags)
        opened = self._sessions.open_to_write(node)
        return self._looking.told(node), opened

    def _new(self, caller: Caller, folder: Node, name: str, mode: int, flags: int) -> Node:
        facts = Facts(mode=mode & 0o7777, owner=(caller.uid, caller.gid)) if self._keeps else Facts()
        entry = Entry(joined(folder.path, name), Kind.FILE)
        node = self._tree.put(folder, name, entry, FOREVER)
        staged = self._nodes.stage.begin(only_new=bool(flags & os.O_EXCL), facts=facts)
        self._nodes.begin(node, staged)
        self._show(node, staged)
        return node

    def _refreshed(self, node: Node, flags: int) -> Opened:
        self._tree.refresh(node)
        with self._lock:
            return self._opened(node, flags)

    def _opened(self, node: Node, flags: int) -> Opened:
        opened = self._sessions.open_to_write(node)
        if flags & os.O_TRUNC:
            self._emptied(node)
        return opened

    def _emptied(self, node: Node) -> None:
        staged = node.staged
        if staged is None:
            staged = self._nodes.stage.begin()
            self._nodes.begin(node, staged)
        os.ftruncate(staged.descriptor, 0)
        staged.touched()
        self._show(node, staged)

    def _written(self, node: Node, staged: Staged, offset: int, data: memoryview | bytes) -> int:
        count = os.pwrite(staged.descriptor, data, offset)
        if not staged.dirty:
            staged.touched()
        self._show(node, staged)
        return count

    def _show(self, node: Node, staged: Staged) -> None:
        """From now on the file is what is written here, whatever the backend tells."""
        node.until = FOREVER
        node.entry = staged.entry(node.entry.path)

    def _bring_and_write(self, node: Node, offset: int, data: bytes) -> int:
        return self._changing(node, lambda staged: self._written(node, staged, offset, data))

    def _truncate(self, node: Node, size: int) -> Known:
        with self._lock:
            opens = node.opens

        def cut(staged: Staged) -> None:
            os.ftruncate(staged.descriptor, size)
            staged.touched()
            self._show(node, staged)

        self._changing(node, cut, keep=size)
        if not opens:
            self._upload_and_end(node)
        elif opens >= UNKNOWN:
            self._upload(node)
        with self._lock:
            return self._looking.known(node)

    def _allocate(self, node: Node, offset: int, length: int) -> None:
        def allocate(staged: Staged) -> None:
            os.posix_fallocate(staged.descriptor, offset, length)
            staged.touched()
            self._show(node, staged)

        self._changing(node, allocate)

    def _changing(self, node: Node, change: Callable[[Staged], T], keep: int | None = None) -> T:
        """Changes what is here of the file, once all of it is, or as much as is kept. Blocks."""
        while True:
            staged = self._brought(node, keep)
            with self._lock:
                upload = staged.upload
                if upload is None:
                    return change(staged)
            upload.exception()

    def _brought(self, node: Node, keep: int | None) -> Staged:
        """Where the file is written, with what it has."""
        with self._lock:
            if node.staged:
                return node.staged
            content = self._sessions.take_up(node).content
            entry = node.entry
        facts = Facts(mode=entry.mode, owner=entry.owner)
        staged = self._nodes.stage.begin(made_of=entry.version, facts=facts)
        offset, size = 0, entry.size if keep is None else min(keep, entry.size)
        while offset < size:
            answer = content.read(offset, min(_PIECE, size - offset))
            data = answer.result() if isinstance(answer, Future) else answer
            if not data:
                raise failure(errno.EIO, entry.path, f"it ends after {offset} of {entry.size} bytes")
            offset += os.pwrite(staged.descriptor, data, offset)
        with self._lock:
            if node.staged:
                self._nodes.stage.end(staged)
                return node.staged
            self._nodes.begin(node, staged)
            return staged

    def _upload(self, node: Node) -> None:
        with self._lock:
            staged = node.staged
            if staged is None:
                return
            path, done = node.path, Future[None]()
            under_way = staged.upload
            staged.upload = under_way or done
        if under_way:
            under_way.result()
            return
        try:
            self._send(node, staged, path)
        except BaseException as error:
            staged.upload = None
            done.set_exception(error)
            raise
        staged.upload = None
        done.set_result(None)

    def _send(self, node: Node, staged: Staged, path: str) -> None:
        condition = staged.condition(self._uploader.backend.capabilities.conditional)
        entry = self._uploader.send(path, staged.descriptor, staged.size, staged.facts, condition)
        with self._lock:
            self._nodes.arrived(node, staged, entry)
            node.entry = entry
            if node.folder:
                self._tree.put(node.folder, node.name, entry)

    def _upload_and_end(self, node: Node) -> None:
        try:
            self._upload(node)
        except OSError as error:
            with self._lock:
                self._keep(node, error)
            raise
        finally:
            with self._lock:
                self._end(node)

    def _keep(self, node: Node, error: OSError) -> None:
        """What was written and cannot be uploaded, and nobody has open any more, is put aside."""
        if not node.staged or node.opens > 1:
            return
        kept = self._nodes.stage.keep(node.staged, self._aside, node.name)
        node.staged, node.until = None, 0.0
        logger.error("not uploaded", extra={"path": node.entry.path, "kept": str(kept), "why": str(error)})

    def _end(self, node: Node) -> None:
        """Closed once; what was written is needed no more once nobody has it open."""
        if node.opens <= 1:
            self._sessions.end(node)
            self._nodes.end(node)
        self._sessions.close(node)


def _waits(node: Node) -> bool:
    """True if the backend does not have all that was written, and should."""
    return bool(node.staged and node.staged.dirty and not node.unlinked)
