"""The operations of a mount in which folders are still being renamed: what touches one of them is done later."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from pf_backends.paths import joined
from pf_fuse.operations import Answer, Bytes, Caller, Changes, Kernel, Known, Named, Opened
from pf_fuse.vfs.left import LeftMoves
from pf_fuse.vfs.nodes import Node
from pf_fuse.vfs.tree import Tree
from pf_fuse.vfs.vfs import Vfs

T = TypeVar("T")


class Patient:
    """Asks the operations, at once or once the folders are renamed."""

    def __init__(self, vfs: Vfs, tree: Tree, left: LeftMoves) -> None:
        self._vfs = vfs
        self._tree = tree
        self._left = left
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
        self._left.begin(kernel)

    def end(self) -> None:
        self._left.end()
        self._vfs.end()

    def sync(self) -> None:
        self._left.wait()
        self._vfs.sync()

    def forget(self, nodes: Sequence[tuple[int, int]]) -> None:
        if not self._left.pending:
            self._vfs.forget(nodes)
            return
        for each in nodes:
            # What was written to it may be uploaded then.
            self._node(each[0], partial(self._forget, each), for_ever=True)

    def lookup(self, caller: Caller, folder: int, name: bytes) -> Answer[Known]:
        return self._name(folder, name, partial(self._vfs.lookup, caller, folder, name))

    def getattr(self, caller: Caller, node: int) -> Answer[Known]:
        return self._node(node, partial(self._vfs.getattr, caller, node))

    def setattr(self, caller: Caller, node: int, changes: Changes) -> Answer[Known]:
        return self._node(node, partial(self._vfs.setattr, caller, node, changes))

    def readlink(self, caller: Caller, node: int) -> Answer[bytes]:
        return self._node(node, partial(self._vfs.readlink, caller, node))

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
        if not self._left.pending:
            return asked()
        paths = (self._path(folder, name), self._path(new_folder, new_name))
        return self._left.after([path for path in paths if path], asked, whole=True)

    def open(self, caller: Caller, node: int, flags: int) -> Answer[Opened]:
        return self._node(node, partial(self._vfs.open, caller, node, flags))

    def create(self, caller: Caller, folder: int, name: bytes, mode: int, flags: int) -> Answer[tuple[Known, Opened]]:
        return self._name(folder, name, partial(self._vfs.create, caller, folder, name, mode, flags))

    def read(self, node: int, offset: int, size: int) -> Answer[Bytes]:
        return self._node(node, partial(self._vfs.read, node, offset, size))

    def write(self, node: int, offset: int, data: memoryview, flags: int) -> Answer[int]:
        if not self._left.pending:
            return self._vfs.write(node, offset, data, flags)
        return self._node(node, partial(self._vfs.write, node, offset, memoryview(bytes(data)), flags))

    def flush(self, node: int, owner: int) -> Answer[None]:
        return self._node(node, partial(self._vfs.flush, node, owner))

    def fsync(self, node: int, data_only: bool) -> Answer[None]:
        return self._node(node, partial(self._vfs.fsync, node, data_only))

    def release(self, node: int, flags: int, owner: int) -> Answer[None]:
        return self._node(node, partial(self._vfs.release, node, flags, owner), for_ever=True)

    def fallocate(self, node: int, mode: int, offset: int, length: int) -> Answer[None]:
        return self._node(node, partial(self._vfs.fallocate, node, mode, offset, length))

    def lseek(self, node: int, offset: int, whence: int) -> Answer[int]:
        return self._node(node, partial(self._vfs.lseek, node, offset, whence))

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

    def _node(self, node: int, ask: Callable[[], Answer[T]], *, for_ever: bool = False) -> Answer[T]:
        path = self._path(node) if self._left.pending else None
        return ask() if path is None else self._left.after([path], ask, for_ever=for_ever)

    def _name(self, folder: int, name: bytes, ask: Callable[[], Answer[T]]) -> Answer[T]:
        path = self._path(folder, name) if self._left.pending else None
        return ask() if path is None else self._left.after([path], ask)

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
        return path is None or self._left.apart(path)

    def _forget(self, node: tuple[int, int]) -> None:
        self._vfs.forget([node])
