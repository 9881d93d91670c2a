"""The operations of a mount in which folders are still being renamed: what touches one of them is done later."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from pf_backends.entries import Kind
from pf_backends.paths import joined
from pf_fuse.arriving import unless_failed
from pf_fuse.operations import Answer, Bytes, Caller, Changes, Kernel, Known, Named, Opened
from pf_fuse.staging.renaming import Move
from pf_fuse.vfs.left import LeftMoves
from pf_fuse.vfs.moves import Moves, touches
from pf_fuse.vfs.nodes import Node
from pf_fuse.vfs.tree import Tree
from pf_fuse.vfs.vfs import Vfs

T = TypeVar("T")


Place = tuple[int, bytes]
"""A node, and a name in it, or none."""


class Patient:
    """Asks the operations, at once or once the folders are renamed.

    Nobody is to write in a folder that is being renamed, nor to find half of it. What was written before is uploaded
    by then, so that whoever closes or syncs a file needs not wait; `left_only` are such.
    """

    def __init__(self, vfs: Vfs, tree: Tree, moves: Moves, left: LeftMoves | None) -> None:
        self._vfs = vfs
        self._tree = tree
        self._moves = moves
        self._left = left
        self._under_way: dict[Future[Any], Sequence[Place]] = {}
        """What was asked and is not answered yet, and where."""
        self._kernel: Kernel | None = None
        self.statfs = vfs.statfs
        self.releasedir = vfs.releasedir
        self.fsyncdir = vfs.fsyncdir
        self.copy_range = vfs.copy_range
        self.link = vfs.link
        self.getlk = vfs.getlk
        self.setlk = vfs.setlk

    def begin(self, kernel: Kernel) -> None:
        """What processes before have not uploaded may lie in one of the folders."""
        self._kernel = kernel
        self._vfs.begin(kernel, self._is_apart)
        self._moves.begin(kernel)
        if self._left:
            self._left.begin()

    def end(self) -> None:
        if self._left:
            self._left.end()
        self._vfs.end()

    def sync(self) -> None:
        if self._left:
            self._left.wait()
        self._vfs.sync()

    def forget(self, nodes: Sequence[tuple[int, int]]) -> None:
        if not self._moves.pending:
            self._vfs.forget(nodes)
            return
        for each in nodes:
            # What was written to it may be uploaded then.
            self._node(each[0], partial(self._forget, each), for_ever=True, left_only=True)

    def lookup(self, caller: Caller, folder: int, name: bytes) -> Answer[Known]:
        if self._moves.pending:
            return self._name(folder, name, partial(self._vfs.lookup, caller, folder, name))
        return self._noted(self._vfs.lookup(caller, folder, name), folder, name)

    def getattr(self, caller: Caller, node: int) -> Answer[Known]:
        if self._moves.pending:
            return self._node(node, partial(self._vfs.getattr, caller, node), left_only=self._is_known(node))
        return self._noted(self._vfs.getattr(caller, node), node)

    def setattr(self, caller: Caller, node: int, changes: Changes) -> Answer[Known]:
        return self._node(node, partial(self._vfs.setattr, caller, node, changes))

    def readlink(self, caller: Caller, node: int) -> Answer[bytes]:
        return self._node(node, partial(self._vfs.readlink, caller, node), left_only=True)

    def mknod(self, caller: Caller, folder: int, name: bytes, mode: int) -> Answer[Known]:
        return self._name(folder, name, partial(self._vfs.mknod, caller, folder, name, mode))

    def mkdir(self, caller: Caller, folder: int, name: bytes, mode: int) -> Answer[Known]:
        return self._name(folder, name, partial(self._vfs.mkdir, caller, folder, name, mode))

    def symlink(self, caller: Caller, folder: int, name: bytes, target: bytes) -> Answer[Known]:
        return self._name(folder, name, partial(self._vfs.symlink, caller, folder, name, target))

    def unlink(self, caller: Caller, folder: int, name: bytes) -> Answer[None]:
        return self._name(folder, name, partial(self._vfs.unlink, caller, folder, name))

    def rmdir(self, caller: Caller, folder: int, name: bytes) -> Answer[None]:
        return self._name(folder, name, partial(self._vfs.rmdir, caller, folder, name))

    def rename(
        self, caller: Caller, folder: int, name: bytes, new_folder: int, new_name: bytes, flags: int
    ) -> Answer[None]:
        again = self._kernel is not None and self._kernel.again
        asked = partial(self._vfs.rename, caller, folder, name, new_folder, new_name, flags, again=again)
        places = ((folder, name), (new_folder, new_name))
        return self._at(places, partial(self._rename, places, asked), whole=True)

    def open(self, caller: Caller, node: int, flags: int) -> Answer[Opened]:
        if self._moves.pending:
            return self._node(node, partial(self._vfs.open, caller, node, flags))
        return self._noted(self._vfs.open(caller, node, flags), node)

    def create(self, caller: Caller, folder: int, name: bytes, mode: int, flags: int) -> Answer[tuple[Known, Opened]]:
        return self._name(folder, name, partial(self._vfs.create, caller, folder, name, mode, flags))

    def read(self, node: int, offset: int, size: int) -> Answer[Bytes]:
        if not self._moves.pending:
            return self._vfs.read(node, offset, size)
        read = partial(self._vfs.read, node, offset, size)
        where = partial(self._paths, ((node, b""),))
        # Not as what is under way: a renaming would wait for it, and it for the renaming.
        return self._moves.after(where, partial(self._read_amid, node, read), left_only=True)

    def write(self, node: int, offset: int, data: memoryview, flags: int) -> Answer[int]:
        if self._moves.pending:
            return self._node(node, partial(self._vfs.write, node, offset, memoryview(bytes(data)), flags))
        return self._noted(self._vfs.write(node, offset, data, flags), node)

    def flush(self, node: int, owner: int) -> Answer[None]:
        if self._moves.pending:
            return self._node(node, partial(self._vfs.flush, node, owner), left_only=True)
        return self._noted(self._vfs.flush(node, owner), node)

    def fsync(self, node: int, data_only: bool) -> Answer[None]:
        return self._node(node, partial(self._vfs.fsync, node, data_only), left_only=True)

    def release(self, node: int, flags: int, owner: int) -> Answer[None]:
        if self._moves.pending:
            release = partial(self._vfs.release, node, flags, owner)
            return self._node(node, release, for_ever=True, left_only=True)
        return self._noted(self._vfs.release(node, flags, owner), node)

    def fallocate(self, node: int, mode: int, offset: int, length: int) -> Answer[None]:
        return self._node(node, partial(self._vfs.fallocate, node, mode, offset, length))

    def lseek(self, node: int, offset: int, whence: int) -> Answer[int]:
        return self._node(node, partial(self._vfs.lseek, node, offset, whence), left_only=True)

    def opendir(self, caller: Caller, node: int) -> Answer[Opened]:
        return self._node(node, partial(self._vfs.opendir, caller, node))

    def readdir(self, node: int, place: int, count: int) -> Answer[Sequence[Named]]:
        return self._node(node, partial(self._vfs.readdir, node, place, count))

    def getxattr(self, node: int, name: bytes) -> Answer[bytes]:
        return self._node(node, partial(self._vfs.getxattr, node, name))

    def setxattr(self, node: int, name: bytes, value: bytes, flags: int) -> Answer[None]:
        return self._node(node, partial(self._vfs.setxattr, node, name, value, flags))

    def listxattr(self, node: int) -> Answer[Sequence[bytes]]:
        return self._node(node, partial(self._vfs.listxattr, node))

    def removexattr(self, node: int, name: bytes) -> Answer[None]:
        return self._node(node, partial(self._vfs.removexattr, node, name))

    def _node(
        self, node: int, ask: Callable[[], Answer[T]], *, for_ever: bool = False, left_only: bool = False
    ) -> Answer[T]:
        return self._at(((node, b""),), ask, for_ever=for_ever, left_only=left_only)

    def _name(self, folder: int, name: bytes, ask: Callable[[], Answer[T]]) -> Answer[T]:
        return self._at(((folder, name),), ask)

    def _at(
        self,
        places: Sequence[Place],
        ask: Callable[[], Answer[T]],
        *,
        whole: bool = False,
        for_ever: bool = False,
        left_only: bool = False,
    ) -> Answer[T]:
        if not self._moves.pending:
            return self._asked(places, ask)
        work = partial(self._asked, places, ask)
        where = partial(self._paths, places)
        return self._moves.after(where, work, whole=whole, for_ever=for_ever, left_only=left_only)

    def _asked(self, places: Sequence[Place], ask: Callable[[], Answer[T]]) -> Answer[T]:
        return self._noted_at(places, ask())

    def _noted(self, answer: Answer[T], node: int, name: bytes = b"") -> Answer[T]:
        """What is asked of files all the time comes here by the short way."""
        return self._noted_at(((node, name),), answer) if isinstance(answer, Future) else answer

    def _noted_at(self, places: Sequence[Place], answer: Answer[T]) -> Answer[T]:
        """A renaming that begins before it is answered begins after it."""
        if isinstance(answer, Future):
            self._under_way[answer] = places
            answer.add_done_callback(self._answered)
        return answer

    def _answered(self, answer: Future[Any]) -> None:
        self._under_way.pop(answer, None)

    def _rename(self, places: Sequence[Place], asked: Callable[[], Answer[None]]) -> Answer[None]:
        """The kernel lets nobody write to a file that is renamed, and whoever likes to what lies in a folder."""
        paths = self._paths(places)
        if len(paths) < len(places) or not self._may_be_folder(*places[0]):
            return asked()
        move = Move(*paths)
        return self._moves.moving(move, asked, partial(self._amid, move))

    def _amid(self, move: Move) -> Sequence[Future[Any]]:
        """What is under way where something is to be renamed."""
        asked = self._under_way.copy().items()
        return [answer for answer, places in asked if any(touches(path, move) for path in self._paths(places))]

    def _may_be_folder(self, folder: int, name: bytes) -> bool:
        with self._tree.lock:
            node = self._tree.nodes.child(self._tree.nodes[folder], os.fsdecode(name))
            return node is None or node.entry.kind is Kind.FOLDER

    def _read_amid(self, node: int, read: Callable[[], Answer[Bytes]]) -> Answer[Bytes]:
        """What is not at hand may be at its new place already: then it is read once the file is known to be there."""
        answer = read()
        return unless_failed(answer, lambda _: self._node(node, read)) if isinstance(answer, Future) else answer

    def _is_known(self, node: int) -> bool:
        """True if its attributes are, so that nobody needs to ask for it where it may be no more."""
        with self._tree.lock, suppress(OSError):
            return self._tree.fresh(self._tree.nodes[node])
        return False

    def _paths(self, places: Sequence[Place]) -> Sequence[str]:
        """Of those that have one."""
        found = [self._path(*place) for place in places]
        return [path for path in found if path is not None]

    def _path(self, node: int, name: bytes = b"") -> str | None:
        """None: it has none any more, and nothing is renamed of it."""
        with self._tree.lock:
            try:
                path = self._tree.nodes[node].path
            except OSError:
                return None
        return joined(path, os.fsdecode(name)) if name else path

    def _is_apart(self, node: Node) -> bool:
        """True if the node lies in no folder that is being renamed."""
        path = self._path(node.id)
        return path is None or self._moves.apart(path)

    def _forget(self, node: tuple[int, int]) -> None:
        self._vfs.forget([node])
