"""Writing files.

What is written lies on the local disk until the file is flushed, which each close does. The first thing that is written
to a file brings here what it has. While a file is uploaded, whoever would write to it waits.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pf_backends.entries import Entry, Facts, Kind
from pf_backends.errors import failure
from pf_backends.paths import joined
from pf_fuse.operations import Answer, Caller, Known, Opened
from pf_fuse.staging.staged import Staged
from pf_fuse.staging.uploading import Uploader
from pf_fuse.vfs.bringing import Bringing
from pf_fuse.vfs.looking import Looking, text_of
from pf_fuse.vfs.nodes import FOREVER, UNKNOWN, Node
from pf_fuse.vfs.sessions import Sessions
from pf_fuse.vfs.tree import Tree

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
        self._bringing = Bringing(tree, sessions)
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
            waits = flags & os.O_TRUNC and _uploading(known)
            if not waits and (known.staged or known.nameless or self._tree.fresh(known)):
                return self._opened(known, flags)
        return self._later(self._refreshed, known, flags)

    def write(self, node: int, offset: int, data: memoryview) -> Answer[int]:
        known = self._nodes[node]
        staged = known.staged
        if staged:
            with staged.gate:
                if staged.written_to and not staged.upload:
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
            if known.opens <= 1 and known.staged and not known.unlinked:
                return self._later(self._upload_and_close, known)
            if known.opens >= UNKNOWN and _waits(known):
                return self._later(self._upload, known)
            self._close(known)
            return None

    def forgotten(self, node: Node) -> None:
        """The kernel knows it no more. The caller holds the lock."""
        if _waits(node):
            self._later(self._upload_and_finish, node)
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
        self._upload_and_finish(node)
        with self._lock:
            return self._looking.known(node)

    def settle(self, node: Node) -> None:
        """The backend has all that was written to the file so far. Blocks."""
        with self._lock:
            waiting = _waits(node)
        if waiting:
            self._upload(node)

    @contextmanager
    def still(self, node: Node) -> Iterator[Node]:
        """Holds the lock, and nothing of the file is being uploaded. Blocks."""
        while True:
            with self._lock:
                upload = _uploading(node)
                if upload is None:
                    yield node
                    return
            upload.exception()

    @contextmanager
    def resting(self, nodes: Sequence[Node]) -> Iterator[None]:
        """The backend has all that was written to files; who would write to one of them waits. Blocks."""
        done = Future[None]()
        resting = [staged for node in nodes if (staged := self._rested(node, done))]
        try:
            yield
        finally:
            for staged in resting:
                staged.upload = None
            done.set_result(None)

    def _rested(self, node: Node, until: Future[None]) -> Staged | None:
        while True:
            self.settle(node)
            with self.still(node):
                staged = node.staged
                if staged is None or node.unlinked:
                    return None
                if not staged.dirty:
                    with staged.gate:
                        staged.upload = until
                    return staged

    @contextmanager
    def leaving(self, node: Node | None) -> Iterator[None]:
        """What was written to the file needs not be kept if the block succeeds; nothing is uploaded amid it. Blocks."""
        if node is None:
            yield
            return
        self._bringing.before_it_goes(node)
        with self._lock:
            node.unlinked = True
            upload = _uploading(node)
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
        opened = self._refreshed(node, flags)
        with self._lock:
            return self._looking.told(node), opened

    def _created(self, caller: Caller, folder: Node, name: str, mode: int, flags: int) -> tuple[Known, Opened]:
        node = self._new(caller, folder, name, mode, flags)
        opened = self._sessions.open_to_write(node)
        return self._looking.told(node), opened

    def _new(self, caller: Caller, folder: Node, name: str, mode: int, flags: int) -> Node:
        facts = Facts(attributes={})
        if self._keeps:
            facts = replace(facts, mode=mode & 0o7777, owner=(caller.uid, caller.gid))
        entry = Entry(joined(folder.path, name), Kind.FILE)
        node = self._tree.put(folder, name, entry, FOREVER)
        staged = self._nodes.stage.begin(only_new=bool(flags & os.O_EXCL), facts=facts)
        self._nodes.begin(node, staged)
        self._show(node, staged)
        return node

    def _refreshed(self, node: Node, flags: int) -> Opened:
        self._tree.refresh(node)
        while True:
            with self._lock:
                upload = _uploading(node) if flags & os.O_TRUNC else None
                if upload is None:
                    return self._opened(node, flags)
            upload.exception()

    def _opened(self, node: Node, flags: int) -> Opened:
        opened = self._sessions.open_to_write(node)
        if flags & os.O_TRUNC:
            self._emptied(node)
        return opened

    def _emptied(self, node: Node) -> None:
        staged = self._bringing.emptied(node)
        self._touched(node, staged)
        self._show(node, staged)

    def _written(self, node: Node, staged: Staged, offset: int, data: memoryview | bytes) -> int:
        count = os.pwrite(staged.descriptor, data, offset)
        self._show(node, staged)
        return count

    @contextmanager
    def _touching(self, node: Node, staged: Staged) -> Iterator[None]:
        """The same if the change is made, and not if it fails."""
        before = staged.dirty, staged.facts
        self._touched(node, staged)
        try:
            yield
        except OSError:
            staged.dirty, staged.facts = before
            self._nodes.staged_otherwise(node, staged)
            raise

    def _touched(self, node: Node, staged: Staged) -> None:
        """What is here will be newer than what the backend has. The caller holds the lock."""
        if not staged.written_to:
            staged.touched()
            self._nodes.staged_otherwise(node, staged)

    def _show(self, node: Node, staged: Staged) -> None:
        """From now on the file is what is written here, whatever the backend tells."""
        node.until = FOREVER
        node.entry = staged.entry(node.entry.path)

    def _bring_and_write(self, node: Node, offset: int, data: bytes) -> int:
        return self._changing(node, lambda staged: self._written(node, staged, offset, data))

    def _truncate(self, node: Node, size: int) -> Known:
        def cut(staged: Staged) -> None:
            os.ftruncate(staged.descriptor, size)
            self._show(node, staged)

        self._changing(node, cut, keep=size)
        with self._lock:
            opens = node.opens
        if not opens:
            self._upload_and_finish(node)
        elif opens >= UNKNOWN:
            self._upload(node)
        with self._lock:
            return self._looking.known(node)

    def _allocate(self, node: Node, offset: int, length: int) -> None:
        def allocate(staged: Staged) -> None:
            os.posix_fallocate(staged.descriptor, offset, length)
            self._show(node, staged)

        self._changing(node, allocate)

    def _changing(self, node: Node, change: Callable[[Staged], T], keep: int | None = None) -> T:
        """Changes what is here of the file, once all of it is, or as much as is kept. Blocks."""
        while True:
            staged = self._bringing.brought(node, keep)
            with self._lock:
                upload = staged.upload
                if upload is None and node.staged is staged:
                    with self._touching(node, staged):
                        return change(staged)
            if upload:
                upload.exception()

    def _upload(self, node: Node) -> None:
        with self._lock:
            staged = node.staged
            if staged is None:
                return
            path, done = node.path, Future[None]()
            with staged.gate:
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
        staged.facts = facts = self._all_facts(staged.facts, path)
        if self._keeps and self._uploader.backend.capabilities.precision == 1:
            facts = replace(facts, modified=staged.modified())
        entry = self._uploader.send(path, staged.descriptor, staged.size, facts, condition)
        with self._lock:
            self._nodes.arrived(node, staged, entry)
            node.entry = entry
            if node.folder:
                self._tree.put(node.folder, node.name, entry)

    def _all_facts(self, facts: Facts, path: str) -> Facts:
        """With the attributes of the file whose place it takes."""
        backend = self._uploader.backend
        if facts.attributes is not None or not backend.capabilities.attributes:
            return facts
        with suppress(FileNotFoundError):
            return replace(facts, attributes=backend.attributes(path).attributes)
        return facts

    def _upload_and_close(self, node: Node) -> None:
        """The last who has it open closes it. Blocks."""
        try:
            self._upload_or_keep(node)
        finally:
            with self._lock:
                self._close(node)

    def _upload_and_finish(self, node: Node) -> None:
        """Of a file that was changed by its name. Blocks."""
        try:
            self._upload_or_keep(node)
        finally:
            with self._lock:
                if not node.opens:
                    self._finish(node)

    def _upload_or_keep(self, node: Node) -> None:
        try:
            self.settle(node)
        except OSError as error:
            with self._lock:
                self._keep(node, error)
            raise

    def _keep(self, node: Node, error: OSError) -> None:
        """What was written and cannot be uploaded, and nobody has open any more, is put aside."""
        if not node.staged or node.opens > 1:
            return
        kept = self._nodes.stage.keep(node.staged, self._aside, node.name)
        node.staged, node.until = None, 0.0
        logger.error("not uploaded", extra={"path": node.entry.path, "kept": str(kept), "why": str(error)})

    def _close(self, node: Node) -> None:
        """Closed once; what was written is needed no more once nobody has it open."""
        if node.opens <= 1:
            self._finish(node)
        self._sessions.close(node)

    def _finish(self, node: Node) -> None:
        self._sessions.end(node)
        self._nodes.end(node)


def _uploading(node: Node) -> Future[None] | None:
    return node.staged.upload if node.staged else None


def _waits(node: Node) -> bool:
    """True if the backend does not have all that was written, and should."""
    return bool(node.staged and node.staged.dirty and not node.unlinked)
