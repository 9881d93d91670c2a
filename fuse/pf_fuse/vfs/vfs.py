"""Answers the kernel from what is known of a backend, from what is written here, and by asking the backend."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence

from pf_backends.errors import failure
from pf_fuse.operations import Answer, Caller, Changes, Kernel, Known, Lock, Opened
from pf_fuse.vfs.changing import Changing
from pf_fuse.vfs.extras import Extras
from pf_fuse.vfs.looking import Looking
from pf_fuse.vfs.nodes import Node
from pf_fuse.vfs.reading import Reading
from pf_fuse.vfs.sessions import Sessions
from pf_fuse.vfs.writing import Writing

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_TRUNC


def _any(_node: Node) -> bool:
    return True


class Vfs:
    """The operations of a mount. One that nobody may write to has neither who writes nor who changes."""

    def __init__(
        self,
        looking: Looking,
        reading: Reading,
        sessions: Sessions,
        extras: Extras,
        writing: Writing | None,
        changing: Changing | None,
        close: Callable[[], None],
    ) -> None:
        self._reading = reading
        self._sessions = sessions
        self._extras = extras
        self._written = writing
        self._changed = changing
        self._close = close
        self.lookup = looking.lookup
        self.getattr = looking.getattr
        self.readlink = looking.readlink
        self.opendir = looking.opendir
        self.readdir = looking.readdir
        self.releasedir = looking.releasedir
        self.statfs = looking.statfs
        self.read = reading.read
        self.lseek = reading.lseek
        self.getxattr = extras.getxattr
        self.listxattr = extras.listxattr

    def begin(self, kernel: Kernel, may: Callable[[Node], bool] = _any) -> None:
        """`may`: as `upload_left`."""
        self._sessions.begin(kernel)
        if self._changed:
            self._changed.begin(kernel)
        if self._written:
            self._written.begin()
        self.upload_left(may)

    def upload_left(self, may: Callable[[Node], bool] = _any) -> None:
        """Begins to upload what was written to a mount before this one, of files that may be uploaded by now."""
        if self._written:
            self._written.upload_left(may)

    def end(self) -> None:
        """What was written and not uploaded is uploaded now."""
        # Whoever waits for what others bring would wait in vain.
        self._sessions.alone()
        try:
            if self._written:
                self._written.leave()
        finally:
            self._sessions.end_all()
            self._close()

    def sync(self) -> None:
        """The backend has all that was written so far, also to files that are open. Blocks."""
        if self._written:
            self._written.finish()

    def forget(self, nodes: Sequence[tuple[int, int]]) -> None:
        self._reading.forget(nodes, self._written.forgotten if self._written else _nothing)

    def open(self, caller: Caller, node: int, flags: int) -> Answer[Opened]:  # noqa: ARG002
        return self._writing.open(node, flags) if flags & _WRITING else self._reading.open(node)

    def release(self, node: int, flags: int, owner: int) -> Answer[None]:  # noqa: ARG002
        if self._written:
            return self._written.release(node)
        self._reading.release(node)
        return None

    def setattr(self, caller: Caller, node: int, changes: Changes) -> Answer[Known]:
        return self._changing.setattr(caller, node, changes)

    def mknod(self, caller: Caller, folder: int, name: bytes, mode: int) -> Answer[Known]:
        return self._changing.mknod(caller, folder, name, mode)

    def mkdir(self, caller: Caller, folder: int, name: bytes, mode: int) -> Answer[Known]:
        return self._changing.mkdir(caller, folder, name, mode)

    def symlink(self, caller: Caller, folder: int, name: bytes, target: bytes) -> Answer[Known]:
        return self._changing.symlink(caller, folder, name, target)

    def link(self, caller: Caller, node: int, folder: int, name: bytes) -> Answer[Known]:
        return self._changing.link(caller, node, folder, name)

    def unlink(self, caller: Caller, folder: int, name: bytes) -> Answer[None]:
        return self._changing.unlink(caller, folder, name)

    def rmdir(self, caller: Caller, folder: int, name: bytes) -> Answer[None]:
        return self._changing.rmdir(caller, folder, name)

    def rename(
        self,
        caller: Caller,
        folder: int,
        name: bytes,
        new_folder: int,
        new_name: bytes,
        flags: int,
        *,
        again: bool = False,
    ) -> Answer[None]:
        """`again`: a process before may have done it."""
        return self._changing.rename(caller, folder, name, new_folder, new_name, flags, again=again)

    def create(self, caller: Caller, folder: int, name: bytes, mode: int, flags: int) -> Answer[tuple[Known, Opened]]:
        return self._writing.create(caller, folder, name, mode, flags)

    def write(self, node: int, offset: int, data: memoryview, flags: int) -> Answer[int]:
        return self._writing.write(node, offset, data, flags)

    def flush(self, node: int, owner: int) -> Answer[None]:  # noqa: ARG002
        if self._written is None:
            # The kernel takes that for final, and asks no more.
            raise failure(errno.ENOSYS, "", "nothing is written here")
        return self._written.flush(node)

    def fsync(self, node: int, data_only: bool) -> Answer[None]:  # noqa: ARG002
        return self._written.sync(node) if self._written else None

    def fsyncdir(self, node: int) -> Answer[None]:  # noqa: ARG002
        """What is made and removed in folders is so in the backend before the program that did it goes on."""
        return None

    def fallocate(self, node: int, mode: int, offset: int, length: int) -> Answer[None]:
        return self._writing.fallocate(node, mode, offset, length)

    def copy_range(self, node: int, offset: int, target: int, target_offset: int, length: int) -> Answer[int]:  # noqa: ARG002
        raise failure(errno.ENOSYS, "", "the kernel copies by reading and writing")

    def setxattr(self, node: int, name: bytes, value: bytes, flags: int) -> Answer[None]:
        self._require_writable()
        return self._extras.setxattr(node, name, value, flags)

    def removexattr(self, node: int, name: bytes) -> Answer[None]:
        self._require_writable()
        return self._extras.removexattr(node, name)

    def getlk(self, node: int, lock: Lock) -> Answer[Lock | None]:  # noqa: ARG002
        raise _by_kernel()

    def setlk(self, node: int, lock: Lock, wait: bool) -> Answer[None]:  # noqa: ARG002
        raise _by_kernel()

    def _require_writable(self) -> None:
        if self._changed is None:
            raise _read_only()

    @property
    def _writing(self) -> Writing:
        if self._written is None:
            raise _read_only()
        return self._written

    @property
    def _changing(self) -> Changing:
        if self._changed is None:
            raise _read_only()
        return self._changed


def _nothing(_node: Node) -> None:
    """Nothing was written."""


def _read_only() -> OSError:
    return failure(errno.EROFS, "", "the mount is for reading")


def _by_kernel() -> OSError:
    return failure(errno.ENOSYS, "", "locks hold among the programs of one machine, and the kernel keeps those")
