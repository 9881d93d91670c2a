"""Writing files.

What is written lies on the local disk until the file is flushed, which each close does. The first thing that is written
to a file brings here what it has. While a file is uploaded, whoever would write to it waits.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

from pf_backends.entries import Capabilities, Entry, Facts, Kind
from pf_backends.errors import failure
from pf_backends.paths import encoded, joined
from pf_fuse.arriving import once
from pf_fuse.operations import Answer, Caller, Known, Opened
from pf_fuse.staging.staged import Staged
from pf_fuse.vfs.bringing import Bringing
from pf_fuse.vfs.looking import Looking, text_of
from pf_fuse.vfs.nodes import FOREVER, UNKNOWN, Node
from pf_fuse.vfs.owing import Owing
from pf_fuse.vfs.quota import Quota
from pf_fuse.vfs.rights import only_writes, rights_to_take
from pf_fuse.vfs.sessions import Sessions
from pf_fuse.vfs.settling import Settling, matters, uploading, waits
from pf_fuse.vfs.tree import Tree

T = TypeVar("T")


class Writing:
    """The operations that change what files have."""

    def __init__(
        self,
        tree: Tree,
        looking: Looking,
        sessions: Sessions,
        bringing: Bringing,
        settling: Settling,
        workers: Executor,
        *,
        can: Capabilities,
        quota: Quota,
        owing: Owing | None = None,
    ) -> None:
        """`owing`: what was closed is uploaded later; None: whoever closes a file waits for that."""
        self._tree = tree
        self._nodes = tree.nodes
        self._lock = tree.lock
        self._looking = looking
        self._sessions = sessions
        self._bringing = bringing
        self._settling = settling
        self.settle = settling.settle
        self._owing = owing
        self.finish = owing.finish if owing else settling.finish
        self.leave = owing.leave if owing else settling.finish
        self._changed_by_name = owing.changed_by_name if owing else settling.changed_by_name
        self._later = workers.submit
        self._can = can
        self._quota = quota

    def begin(self) -> None:
        if self._owing:
            self._owing.begin()

    def upload_left(self, may: Callable[[Node], bool]) -> None:
        """What was written to a mount before this one nobody closes any more."""
        if self._owing:
            self._owing.owe_left(may)
            return
        with self._lock:
            left = [node for node in self._nodes.all() if waits(node) and not node.told and not node.opens]
        for node in filter(may, left):
            self._later(self._settling.left, node)

    def create(self, caller: Caller, folder: int, name: bytes, mode: int, flags: int) -> Answer[tuple[Known, Opened]]:
        text = text_of(name)
        if not self._can.byte_names:
            # It would be told when the file is closed, and what was written put aside.
            encoded(text)
        with self._lock:
            above = self._nodes[folder]
            found = self._tree.remembered(above, text)
            if found and found.entry is None:
                return self._created(caller, above, text, mode, flags)
        return self._later(self._find_and_create, caller, above, text, mode, flags)

    def open(self, node: int, flags: int) -> Answer[Opened]:
        with self._lock:
            known = self._nodes[node]
            if under_way := self._before_opening(known, flags):
                return once(under_way, partial(self.open, node, flags))
            if known.staged or known.nameless or self._tree.fresh(known):
                return self._opened(known, flags)
        return self._later(self._refreshed, known, flags)

    def write(self, node: int, offset: int, data: memoryview, flags: int) -> Answer[int]:
        known = self._nodes[node]
        if flags & os.O_DSYNC and self._sessions.past_the_cache(node):
            return self._later(self._write_and_settle, known, offset, bytes(data))
        staged = known.staged
        if staged and not rights_to_take(known):
            with staged.gate:
                if staged.written_to and not staged.upload:
                    return self._written(known, staged, offset, data)
        return self._later(self._bring_and_write, known, offset, bytes(data))

    def flush(self, node: int) -> Answer[None]:
        with self._lock:
            known = self._nodes[node]
            if not matters(known):
                return None
        return self._later(self._owing.flush if self._owing else self._settling.settle, known)

    def sync(self, node: int) -> Answer[None]:
        with self._lock:
            known = self._nodes[node]
            if not matters(known):
                return None
        return self._later(self._settling.settle, known)

    def release(self, node: int) -> Answer[None]:
        with self._lock:
            known = self._nodes[node]
            if not matters(known):
                self._settling.closed_at_once(known)
                return None
        return self._later(self._owing.closed if self._owing else self._settling.closed, known)

    def forgotten(self, node: Node) -> None:
        """The kernel knows it no more. The caller holds the lock."""
        if matters(node) and self._owing:
            self._owing.owe(node)
        elif matters(node):
            self._later(self._settling.changed_by_name, node)
        else:
            self._nodes.end(node)

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
            try:
                self._nodes.tell(node)
            except OSError:
                self._unmade(folder, node)
                raise
        self._settling.changed_by_name(node)
        with self._lock:
            return self._looking.known(node)

    def _find_and_create(self, caller: Caller, folder: Node, name: str, mode: int, flags: int) -> tuple[Known, Opened]:
        found = self._tree.find(folder, name)
        with self._lock:
            if found.entry is None:
                return self._created(caller, folder, name, mode, flags)
            if flags & os.O_EXCL:
                raise failure(errno.EEXIST, name, "there is something of this name already")
            node = self._tree.enter(folder, found.entry, found.until, found.asked)
            if node.entry.kind is not Kind.FILE:
                # The kernel looks again, and asks otherwise.
                raise failure(errno.ESTALE, name, "something else than a file was made there meanwhile")
        try:
            with self._lock:
                # Nothing is emptied that cannot be written down.
                self._nodes.tell(node)
            opened = self._refreshed(node, flags)
        except OSError:
            # It is not told after all; what is written down of that can fail again, and is not needed.
            with self._lock, suppress(OSError):
                self._sessions.let_go(node.id, 1, self.forgotten)
            raise
        with self._lock:
            return self._looking.known(node), opened

    def _created(self, caller: Caller, folder: Node, name: str, mode: int, flags: int) -> tuple[Known, Opened]:
        node = self._new(caller, folder, name, mode, flags)
        try:
            opened = self._sessions.open_to_write(node, only=only_writes(node, flags))
            return self._looking.told(node), opened
        except OSError:
            self._unmade(folder, node)
            raise

    def _new(self, caller: Caller, folder: Node, name: str, mode: int, flags: int) -> Node:
        path = joined(folder.path, name)
        self._require_short(path)
        facts = Facts(attributes={})
        if self._can.modes:
            facts = replace(facts, mode=mode & 0o7777, owner=(caller.uid, caller.gid))
        staged = self._nodes.stage.begin(only_new=bool(flags & os.O_EXCL), facts=facts)
        with self._nodes.stage.beginning(staged):
            self._quota.take(name, files=1)
            node = self._tree.put(folder, name, Entry(path, Kind.FILE), FOREVER)
            try:
                self._nodes.begin(node, staged)
            except OSError:
                self._unmade(folder, node)
                raise
        self._show(node, staged)
        return node

    def _unmade(self, folder: Node, node: Node) -> None:
        """A file could not be made here; what is written down of that can fail again, and is not needed."""
        self._quota.take(node.name, files=-1)
        self._sessions.end(node)
        self._nodes.abandon(node)
        with suppress(OSError):
            if node.opens:
                self._sessions.close(node)
        with suppress(OSError):
            self._tree.drop(folder, node.name)

    def _require_short(self, path: str) -> None:
        """What is too long would be told when the file is closed, and what was written put aside."""
        longest = self._can.longest
        if longest is not None and len(os.fsencode(path)) > longest:
            raise failure(errno.ENAMETOOLONG, path, f"files have paths of at most {longest} bytes here")

    def _refreshed(self, node: Node, flags: int) -> Opened:
        self._tree.refresh(node)
        while True:
            with self._lock:
                under_way = self._before_opening(node, flags)
                if under_way is None:
                    return self._opened(node, flags)
            under_way.exception()

    def _before_opening(self, node: Node, flags: int) -> Future[None] | None:
        return self._sessions.before_opening(node) or (uploading(node) if flags & os.O_TRUNC else None)

    def _opened(self, node: Node, flags: int) -> Opened:
        opened = self._sessions.open_to_write(node, only=only_writes(node, flags))
        if flags & os.O_TRUNC:
            try:
                self._emptied(node)
            except OSError:
                self._not_opened(node)
                raise
        return opened

    def _not_opened(self, node: Node) -> None:
        """What others have written to it is not lost by that. The caller holds the lock."""
        if matters(node):
            self._sessions.leave(node)
        else:
            self._settling.closed_at_once(node)

    def _emptied(self, node: Node) -> None:
        staged = self._bringing.begun_anew(node)
        with self._touching(node, staged):
            self._cut(node, 0, staged)

    def _written(self, node: Node, staged: Staged, offset: int, data: memoryview | bytes) -> int:
        with self._growing(node, max(node.entry.size, offset + len(data))):
            count = os.pwrite(staged.descriptor, data, offset)
            self._settling.written(node, staged, offset, offset + count)
            self._show(node, staged)
        return count

    @contextmanager
    def _growing(self, node: Node, size: int) -> Iterator[None]:
        """As `_grow`; what the disk did not take is not counted."""
        self._grow(node, size)
        try:
            yield
        finally:
            if node.entry.size < size and self._settling.counts(node):
                self._quota.take(node.name, node.entry.size - size)

    def _grow(self, node: Node, size: int) -> None:
        """EDQUOT if the file may not become so large; what nobody has a name for any more is not counted."""
        if self._settling.counts(node):
            self._quota.take(node.name, size - node.entry.size)

    @contextmanager
    def _touching(self, node: Node, staged: Staged) -> Iterator[None]:
        """The same if the change is made, and not if it fails."""
        before = staged.dirty, staged.facts
        try:
            self._touched(node, staged)
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
        def write(staged: Staged) -> int:
            rights = rights_to_take(node)
            if rights and self._sessions.past_the_cache(node.id):
                # The kernel does so only for what goes through its cache.
                staged.facts = replace(staged.facts, mode=(node.entry.mode or 0) & ~rights)
                self._nodes.staged_otherwise(node, staged)
            return self._written(node, staged, offset, data)

        return self._changing(node, write)

    def _write_and_settle(self, node: Node, offset: int, data: bytes) -> int:
        """What goes past the kernel's cache it does not ask to be synced, however it was opened."""
        count = self._bring_and_write(node, offset, data)
        self.settle(node)
        return count

    def truncate(self, node: Node, size: int, *, by_handle: bool) -> None:
        """Cuts the file, or makes it longer. Whoever does so by its name has no close to come. Blocks."""
        self._know_version(node)
        with self._lock:
            self._sessions.require_asking(node)
        if not self._cut_copy(node, size):
            self._changing(node, partial(self._cut, node, size))
        if not by_handle:
            self._changed_by_name(node)
        elif node.opens >= UNKNOWN:
            self._settling.settle(node)

    def _cut_copy(self, node: Node, size: int) -> bool:
        """Brings no more of the file here than is kept of it, and shows nothing else; False if it is here. Blocks."""
        if node.staged:
            return False
        staged = self._bringing.copied(node, size)
        with self._lock:
            if node.staged:
                self._nodes.stage.end(staged)
                return False
            with self._nodes.stage.beginning(staged), self._growing(node, size):
                os.ftruncate(staged.descriptor, size)
                staged.touched()
                self._nodes.begin(node, staged)
                self._show(node, staged)
        return True

    def _cut(self, node: Node, size: int, staged: Staged) -> None:
        with self._growing(node, size):
            os.ftruncate(staged.descriptor, size)
            staged.cut(size)
            self._show(node, staged)

    def _know_version(self, node: Node) -> None:
        """Of what its folder was renamed with, nobody may have asked yet what version it is by now. Blocks."""
        with self._lock:
            known = node.opens or node.staged or node.nameless or self._tree.fresh(node)
        if not known:
            self._tree.refresh(node)

    def _allocate(self, node: Node, offset: int, length: int) -> None:
        def allocate(staged: Staged) -> None:
            before = staged.size
            with self._growing(node, max(before, offset + length)):
                try:
                    os.posix_fallocate(staged.descriptor, offset, length)
                except OSError:
                    # Disks that become full amid it leave the file longer.
                    os.ftruncate(staged.descriptor, before)
                    raise
                staged.changes += 1
                self._show(node, staged)

        self._changing(node, allocate)

    def _changing(self, node: Node, change: Callable[[Staged], T]) -> T:
        """Changes what is here of the file, once all of it is. Blocks."""
        while True:
            staged = self._bringing.brought(node)
            with self._lock:
                upload = staged.upload
                if upload is None and node.staged is staged:
                    with self._touching(node, staged):
                        return change(staged)
            if upload:
                upload.exception()
