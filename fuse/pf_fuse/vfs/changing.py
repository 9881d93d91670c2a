"""Making, removing and renaming things."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from pf_backends.entries import Entry, Facts, Kind
from pf_backends.errors import failure
from pf_backends.paths import joined, parent
from pf_backends.port import NO_FACTS, Backend
from pf_fuse.operations import Answer, Caller, Changes, Kernel, Known
from pf_fuse.staging.renaming import Copied, Move, Renamer
from pf_fuse.vfs.keeping import Keeping
from pf_fuse.vfs.looking import Looking, text_of
from pf_fuse.vfs.nodes import FOREVER, Node
from pf_fuse.vfs.sessions import Sessions, version_here
from pf_fuse.vfs.settling import Settling
from pf_fuse.vfs.tree import Tree
from pf_fuse.vfs.writing import Writing

_NO_REPLACE = 1
"""RENAME_NOREPLACE, of renameat2."""


class Changing:
    """The operations that change what there is. Each asks the backend first: what it refuses has not happened."""

    def __init__(
        self,
        backend: Backend,
        tree: Tree,
        looking: Looking,
        sessions: Sessions,
        keeping: Keeping,
        settling: Settling,
        writing: Writing,
        renamer: Renamer,
        workers: Executor,
    ) -> None:
        self._backend = backend
        self._can = backend.capabilities
        self._tree = tree
        self._nodes = tree.nodes
        self._lock = tree.lock
        self._looking = looking
        self._sessions = sessions
        self._keeping = keeping
        self._settling = settling
        self._writing = writing
        self._renamer = renamer
        self._later = workers.submit
        self._kernel: Kernel | None = None

    def begin(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def mkdir(self, caller: Caller, folder: int, name: bytes, mode: int) -> Answer[Known]:
        facts = Facts(mode=mode & 0o7777, owner=(caller.uid, caller.gid))
        return self._later(self._mkdir, self._nodes[folder], text_of(name), facts)

    def mknod(self, caller: Caller, folder: int, name: bytes, mode: int) -> Answer[Known]:
        if not stat.S_ISREG(mode):
            raise failure(errno.EPERM, os.fsdecode(name), "only files, folders and links can be made here")
        return self._later(self._writing.make, caller, self._nodes[folder], text_of(name), mode)

    def symlink(self, caller: Caller, folder: int, name: bytes, target: bytes) -> Answer[Known]:  # noqa: ARG002
        if not self._can.links:
            raise failure(errno.EPERM, os.fsdecode(name), "links cannot be kept here")
        return self._later(self._symlink, self._nodes[folder], text_of(name), os.fsdecode(target))

    def link(self, caller: Caller, node: int, folder: int, name: bytes) -> Answer[Known]:  # noqa: ARG002
        raise failure(errno.EPERM, os.fsdecode(name), "a file has one name here")

    def unlink(self, caller: Caller, folder: int, name: bytes) -> Answer[None]:  # noqa: ARG002
        return self._later(self._unlink, self._nodes[folder], text_of(name))

    def rmdir(self, caller: Caller, folder: int, name: bytes) -> Answer[None]:  # noqa: ARG002
        return self._later(self._rmdir, self._nodes[folder], text_of(name))

    def rename(
        self,
        caller: Caller,  # noqa: ARG002
        folder: int,
        name: bytes,
        new_folder: int,
        new_name: bytes,
        flags: int,
        *,
        again: bool = False,
    ) -> Answer[None]:
        if flags & ~_NO_REPLACE:
            raise failure(errno.EINVAL, os.fsdecode(name), "names cannot be exchanged here")
        places = (self._nodes[folder], text_of(name), self._nodes[new_folder], text_of(new_name))
        again = again or bool(self._kernel and self._kernel.again)
        return self._later(self._rename, *places, replace_it=not flags & _NO_REPLACE, again=again)

    def setattr(self, caller: Caller, node: int, changes: Changes) -> Answer[Known]:  # noqa: ARG002
        return self._later(self._setattr, node, changes, again=bool(self._kernel and self._kernel.again))

    def _mkdir(self, folder: Node, name: str, facts: Facts) -> Known:
        path = joined(folder.path, name)
        self._require_nothing(folder, name)
        entry = self._backend.make_folder(path, facts=facts if self._can.modes else Facts())
        return self._made(folder, name, entry)

    def _symlink(self, folder: Node, name: str, target: str) -> Known:
        self._require_nothing(folder, name)
        return self._made(folder, name, self._backend.make_link(joined(folder.path, name), target))

    def _made(self, folder: Node, name: str, entry: Entry) -> Known:
        with self._lock:
            return self._looking.told(self._tree.put(folder, name, entry))

    def _unlink(self, folder: Node, name: str) -> None:
        with self._lock:
            node = self._nodes.child(folder, name)
            written_here = bool(node and node.staged and node.staged.dirty)
        with self._settling.leaving(node):
            try:
                self._backend.remove(joined(folder.path, name))
            except FileNotFoundError:
                if not written_here:
                    raise
        with self._lock:
            self._tree.drop(folder, name)

    def _rmdir(self, folder: Node, name: str) -> None:
        with self._lock:
            node = self._nodes.child(folder, name)
            _require_nothing_written_in(node)
        self._backend.remove_folder(joined(folder.path, name))
        with self._lock:
            self._tree.drop(folder, name)

    def _rename(
        self, folder: Node, name: str, new_folder: Node, new_name: str, *, replace_it: bool, again: bool
    ) -> None:
        with self._lock:
            known = self._nodes.child(folder, name)
            was_folder = known is None or known.entry.kind is Kind.FOLDER
        found = self._tree.find(folder, name)
        there = self._tree.find(new_folder, new_name).entry
        if found.entry is None and there and again:
            with self._lock:
                self._go_on(known, folder, name, new_folder, there)
            return
        if found.entry is None:
            raise failure(errno.ENOENT, name, "there is nothing of this name")
        if there and not replace_it:
            raise failure(errno.EEXIST, new_name, "there is something of this name already")
        with self._lock:
            node = self._tree.enter(folder, found.entry, found.until, found.asked)
            source, target = node.path, joined(new_folder.path, new_name)
        if node.entry.kind is Kind.FOLDER and not was_folder:
            # Nobody was kept from what is in it.
            raise failure(errno.ESTALE, name, "it has become a folder")
        if source == target:
            return
        with self._lock:
            replaced = self._nodes.child(new_folder, new_name)
        # Whoever was kept waiting is to find it under its new name.
        moved = partial(self._moved, node, folder, new_folder, new_name)
        with self._settling.leaving(replaced):
            if node.entry.kind is Kind.FOLDER:
                self._rename_folder(node, there, source, target, moved, replace_it=replace_it)
            else:
                self._rename_file(node, there, source, target, moved, replace_it=replace_it)

    def _rename_file(
        self, node: Node, there: Entry | None, source: str, target: str, moved: Callable[[], None], *, replace_it: bool
    ) -> None:
        if there and there.kind is Kind.FOLDER:
            raise failure(errno.EISDIR, target, "there is a folder of this name")
        with self._settling.resting([node]):
            copied = self._renamer.file(source, target, replace_it=replace_it)
            self._carry(node, target, copied)
            with self._lock:
                moved()

    def _rename_folder(
        self, node: Node, there: Entry | None, source: str, target: str, moved: Callable[[], None], *, replace_it: bool
    ) -> None:
        """Nobody here changes anything there meanwhile. Blocks."""
        if there is None or there.kind is Kind.FOLDER:
            # What was told a moment ago would do for a file that is replaced, and not for all that is in a folder.
            there = self._lies_at(target)
        if there and not replace_it:
            raise failure(errno.EEXIST, target, "there is something of this name already")
        if there and there.kind is not Kind.FOLDER:
            raise failure(errno.ENOTDIR, target, "there is something of this name that is no folder")
        with self._lock:
            within = _used_within(node)
        self._renamer.require_movable(source, target, within.values())
        with self._lock:
            _require_nothing_written_in(self._tree.at(target))
        if there:
            self._backend.remove_folder(target)
        with self._settling.resting([*within]):
            try:
                copied = self._renamer.folder(source, target, within.values(), replace_it=replace_it)
            except BaseException:
                with self._lock:
                    self._look_anew(source, target)
                raise
            self._carry_all(within, source, target, copied)
            with self._lock:
                moved()

    def _lies_at(self, path: str) -> Entry | None:
        with suppress(FileNotFoundError, NotADirectoryError):
            return self._backend.stat(path)
        return None

    def left(self) -> Sequence[tuple[Path, Move]]:
        """Folders that processes before have begun to rename, and the notes of it."""
        return self._renamer.left()

    def go_on(self, note: Path, move: Move, stepped: Callable[[], None]) -> None:
        """Renames wholly what a process before has begun to rename. Nobody changes anything there meanwhile. Blocks."""
        with self._lock:
            node = self._tree.at(move.source)
            within = _used_within(node) if node else {}
        copied = self._renamer.go_on(note, move, within.values(), stepped)
        self._carry_all(within, move.source, move.target, copied)
        with self._lock:
            above, new_folder = self._tree.at(parent(move.source)), self._tree.at(parent(move.target))
            if node and above and new_folder:
                self._moved(node, above, new_folder, move.target.rpartition("/")[2])
            elif above:
                self._tree.drop(above, move.source.rpartition("/")[2])
            self._look_anew(move.source, move.target)

    def _look_anew(self, source: str, target: str) -> None:
        """Who looked there meanwhile has seen a part. The caller holds the lock."""
        for side in (source, target):
            self._tree.list_anew(parent(side))
            if there := self._tree.at(side):
                _forget_lists(there)
                _doubt_all(there)

    def _carry_all(
        self, within: Mapping[Node, str], source: str, target: str, copied: Mapping[str, Copied | None]
    ) -> None:
        for node, path in within.items():
            self._carry(node, target + path[len(source) :], copied.get(path))

    def _carry(self, node: Node, target: str, copied: Copied | None) -> None:
        """A file that is open goes on at another path, as far as it is known to have the same bytes there. Blocks.

        With a copy of its own: what another client has put there since is found to be another version.
        """
        if not node.opens and not node.staged:
            return
        with suppress(OSError):
            entry = copied.made if copied else self._backend.stat(target)
            with self._lock:
                if version_here(node) == (copied.version if copied else entry.version):
                    self._sessions.carry(node, entry)

    def _go_on(self, node: Node | None, folder: Node, name: str, new_folder: Node, there: Entry) -> None:
        """It was renamed by the process before; the node may not know yet. The caller holds the lock."""
        if node:
            self._moved(node, folder, new_folder, there.name)
        else:
            self._tree.drop(folder, name)

    def _moved(self, node: Node, folder: Node, new_folder: Node, new_name: str) -> None:
        """The node goes on under its new name; what had that is there no more. The caller holds the lock."""
        name = node.name
        self._nodes.move(node, new_folder, new_name)
        for each in (node, *_all_within(node)):
            each.entry = replace(each.entry, path=each.path)
        _forget_lists(node)
        self._tree.drop(folder, name)
        self._tree.put(new_folder, new_name, node.entry)
        # What version a copy is, and of which time, the backend alone knows.
        _doubt_all(node)
        self._tree.doubt(new_folder)

    def _require_nothing(self, folder: Node, name: str) -> None:
        if self._tree.find(folder, name).entry:
            raise failure(errno.EEXIST, name, "there is something of this name already")

    def _setattr(self, id_: int, changes: Changes, *, again: bool) -> Known:
        if changes.size is not None:
            self._writing.truncate(self._nodes[id_], changes.size, by_handle=changes.by_handle)
        with self._settling.still(self._nodes[id_]) as node:
            facts = self._facts(node, changes)
            path = "" if facts == NO_FACTS or self._keeping.here(node, facts) else node.path
        if path:
            self._keeping.there(node, path, facts, again=again)
        with self._lock:
            return self._looking.known(node)

    def _facts(self, node: Node, changes: Changes) -> Facts:
        """What the backend, or the upload to come, is to keep; what it cannot keep is taken for done."""
        owner = None
        if self._can.owners and (changes.uid is not None or changes.gid is not None):
            uid, gid = node.entry.owner or (0, 0)
            owner = (uid if changes.uid is None else changes.uid, gid if changes.gid is None else changes.gid)
        mode = changes.mode & 0o7777 if self._can.modes and changes.mode is not None else None
        times = self._can.modes or (node.staged and node.staged.dirty)
        return Facts(modified=changes.modified if times else None, mode=mode, owner=owner)


def _require_nothing_written_in(folder: Node | None) -> None:
    """ENOTEMPTY if something is below it that the backend does not have yet. The caller holds the lock."""
    if folder and any(each.staged and each.staged.dirty for each in _all_within(folder)):
        raise failure(errno.ENOTEMPTY, folder.name, "there is something in the folder")


def _used_within(folder: Node) -> Mapping[Node, str]:
    """Files below a folder that are open, or written here, and where: they may have no name any more later."""
    files = [each for each in _all_within(folder) if each.entry.kind is Kind.FILE]
    return {each: each.path for each in files if each.opens or each.staged}


def _forget_lists(folder: Node) -> None:
    """Of a folder, and of all below it."""
    for each in (folder, *_all_within(folder)):
        each.listing = each.absent = None


def _doubt_all(node: Node) -> None:
    """Of a thing, and of all below it, but for what only is here as it is."""
    for each in (node, *_all_within(node)):
        each.until = FOREVER if each.staged and each.staged.dirty else 0.0


def _all_within(node: Node) -> Sequence[Node]:
    """All nodes below a folder."""
    found: list[Node] = []
    waiting = [*node.within()]
    while waiting:
        each = waiting.pop()
        found.append(each)
        waiting += each.within()
    return found
