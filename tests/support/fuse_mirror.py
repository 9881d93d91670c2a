"""Operations over a folder of this machine: what is mounted looks and behaves as that folder."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pf_fuse.operations import (
    TOP,
    Answer,
    Attributes,
    Bytes,
    Caller,
    Changes,
    Kernel,
    Known,
    Lock,
    Named,
    Opened,
    Reach,
)
from support.fuse_locks import Locks

LIBC = ctypes.CDLL(None, use_errno=True)
AT_FDCWD = -100
KEEP_ON_OPEN = os.O_RDWR


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """How the mirror answers."""

    lasts: float = 0.0
    """Seconds for which the kernel need not ask again."""
    passthrough: bool = False
    zero_open: bool = False
    """Files and folders are opened without a message."""
    reach: Reach = Reach.NOTHING
    one_buffer: bool = False
    """All reads are into the same memory."""
    journal: str = ""
    """A file in which nodes are written down, for whoever goes on with the mount."""


class Mirror:
    """A folder as operations. A file that is new gets a node of its own, also at the number of one that is gone."""

    def __init__(self, root: Path, manners: Manners) -> None:
        self.manners = manners
        self.told: Counter[int] = Counter()
        """How often the kernel was told of each node."""
        self.ended = False
        self._root = os.fsencode(root)
        self._paths: dict[int, bytes] = {TOP: self._root}
        self._nodes: dict[int, int] = {os.stat(self._root).st_ino: TOP}
        self._last = TOP
        self._files: dict[int, int] = {}
        self._opened: Counter[int] = Counter()
        self._backings: dict[int, int] = {}
        self._lists: dict[int, list[bytes]] = {}
        self._locks: defaultdict[tuple[int, bool], Locks] = defaultdict(Locks)
        self._memory = memoryview(bytearray(1 << 20 if manners.one_buffer else 0))
        self._journal = open(manners.journal, "ab+", buffering=0) if manners.journal else None  # noqa: SIM115  # as long as the mirror
        self._remember()

    # The mount.

    def begin(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def end(self) -> None:
        self.ended = True

    def statfs(self, node: int) -> Answer[os.statvfs_result]:
        return os.statvfs(self._root)

    # Nodes.

    def forget(self, nodes: Sequence[tuple[int, int]]) -> None:
        for node, times in nodes:
            self.told[node] -= times
            assert self.told[node] >= 0, f"node {node} is forgotten more often than told"
            if not self.told[node]:
                del self.told[node]

    def lookup(self, caller: Caller, folder: int, name: bytes) -> Answer[Known]:
        try:
            return self._told(self._path(folder, name))
        except FileNotFoundError:
            return Known(None, self.manners.lasts, 0)

    def getattr(self, caller: Caller, node: int) -> Answer[Known]:
        return self._known(self._status(node), node)

    def setattr(self, caller: Caller, node: int, changes: Changes) -> Answer[Known]:
        target: int | bytes = self._files.get(node, self._paths[node])
        if changes.size is not None:
            os.truncate(target, changes.size)
        if changes.uid is not None or changes.gid is not None:
            ids = [-1 if number is None else number for number in (changes.uid, changes.gid)]
            os.chown(target, *ids, follow_symlinks=isinstance(target, int))
        if changes.mode is not None:
            os.chmod(target, stat.S_IMODE(changes.mode))
        if changes.accessed is not None or changes.modified is not None:
            status = self._status(node)
            accessed = status.st_atime_ns if changes.accessed is None else changes.accessed
            modified = status.st_mtime_ns if changes.modified is None else changes.modified
            os.utime(target, ns=(accessed, modified), follow_symlinks=isinstance(target, int))
        return self._known(self._status(node), node)

    def readlink(self, caller: Caller, node: int) -> Answer[bytes]:
        return os.readlink(self._paths[node])

    def mknod(self, caller: Caller, folder: int, name: bytes, mode: int) -> Answer[Known]:
        os.mknod(self._path(folder, name), mode)
        return self._made(caller, folder, name)

    def mkdir(self, caller: Caller, folder: int, name: bytes, mode: int) -> Answer[Known]:
        os.mkdir(self._path(folder, name), mode)
        return self._made(caller, folder, name)

    def symlink(self, caller: Caller, folder: int, name: bytes, target: bytes) -> Answer[Known]:
        os.symlink(target, self._path(folder, name))
        return self._made(caller, folder, name)

    def link(self, caller: Caller, node: int, folder: int, name: bytes) -> Answer[Known]:
        os.link(self._paths[node], self._path(folder, name), follow_symlinks=False)
        return self._told(self._path(folder, name))

    def unlink(self, caller: Caller, folder: int, name: bytes) -> None:
        path = self._path(folder, name)
        status = os.lstat(path)
        os.unlink(path)
        if status.st_nlink == 1:
            self._nodes.pop(status.st_ino, None)

    def rmdir(self, caller: Caller, folder: int, name: bytes) -> None:
        path = self._path(folder, name)
        status = os.lstat(path)
        os.rmdir(path)
        self._nodes.pop(status.st_ino, None)

    def rename(self, caller: Caller, folder: int, name: bytes, new_folder: int, new_name: bytes, flags: int) -> None:
        old, new = self._path(folder, name), self._path(new_folder, new_name)
        replaced = os.lstat(new) if os.path.lexists(new) else None
        if LIBC.renameat2(AT_FDCWD, old, AT_FDCWD, new, flags) < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        if flags:
            self._moved(old, b"\0swap")
            self._moved(new, old)
            self._moved(b"\0swap", new)
            return
        if replaced is not None and replaced.st_nlink == 1:
            self._nodes.pop(replaced.st_ino, None)
        self._moved(old, new)

    # Files.

    def open(self, caller: Caller, node: int, flags: int) -> Answer[Opened]:
        if self.manners.zero_open:
            raise OSError(errno.ENOSYS, "files need not be opened")
        self._opened[node] += 1
        descriptor = self._file(node)
        if flags & os.O_TRUNC:
            os.ftruncate(descriptor, 0)
        return Opened(self.manners.reach, self._backing(node, descriptor))

    def create(self, caller: Caller, folder: int, name: bytes, mode: int, flags: int) -> Answer[tuple[Known, Opened]]:
        path = self._path(folder, name)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | (flags & (os.O_EXCL | os.O_TRUNC)), mode)
        os.fchown(descriptor, caller.uid, caller.gid)
        known = self._told(path)
        assert known.attributes is not None
        node = known.attributes.node
        self._opened[node] += 1
        if self._files.setdefault(node, descriptor) != descriptor:
            os.close(descriptor)
        return known, Opened(self.manners.reach, self._backing(node, self._files[node]))

    def read(self, node: int, offset: int, size: int) -> Answer[Bytes]:
        descriptor = self._files.get(node) or self._file(node)
        if not self._memory:
            return os.pread(descriptor, size, offset)
        return self._memory[: os.preadv(descriptor, [self._memory[:size]], offset)]

    def write(self, node: int, offset: int, data: memoryview, flags: int) -> Answer[int]:
        return os.pwrite(self._file(node), data, offset)

    def flush(self, node: int, owner: int) -> None:
        if self.manners.zero_open:
            raise OSError(errno.ENOSYS, "files need not be closed")
        self._locks[node, False].drop(owner)

    def fsync(self, node: int, data_only: bool) -> None:
        os.fdatasync(self._file(node)) if data_only else os.fsync(self._file(node))

    def release(self, node: int, flags: int, owner: int) -> None:
        self._locks[node, True].drop(owner)
        self._opened[node] -= 1
        if self._opened[node] <= 0:
            del self._opened[node]
            descriptor = self._files.pop(node, None)
            if descriptor is not None:
                os.close(descriptor)
            backing = self._backings.pop(node, 0)
            if backing:
                self.kernel.unregister(backing)

    def fallocate(self, node: int, mode: int, offset: int, length: int) -> None:
        arguments = [ctypes.c_int(self._file(node)), ctypes.c_int(mode), ctypes.c_long(offset), ctypes.c_long(length)]
        if LIBC.fallocate(*arguments) < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def lseek(self, node: int, offset: int, whence: int) -> Answer[int]:
        return os.lseek(self._file(node), offset, whence)

    def copy_range(self, node: int, offset: int, target: int, target_offset: int, length: int) -> Answer[int]:
        return os.copy_file_range(self._file(node), self._file(target), length, offset, target_offset)

    # Folders.

    def opendir(self, caller: Caller, node: int) -> Answer[Opened]:
        if self.manners.zero_open:
            raise OSError(errno.ENOSYS, "folders need not be opened")
        return Opened(self.manners.reach & (Reach.KEEP_CACHE | Reach.CACHE_FOLDER))

    def readdir(self, node: int, place: int, count: int) -> Answer[Sequence[Named]]:
        if place == 0 or node not in self._lists:
            self._lists[node] = os.listdir(self._paths[node])
        names = self._lists[node][place : place + count]
        found = ((number, name, self._path(node, name)) for number, name in enumerate(names, place + 1))
        return [Named(name, number, self._told(path)) for number, name, path in found if os.path.lexists(path)]

    def releasedir(self, node: int) -> None:
        pass

    def fsyncdir(self, node: int) -> Answer[None]:
        pass

    # Extended attributes.

    def getxattr(self, node: int, name: bytes) -> Answer[bytes]:
        return os.getxattr(self._paths[node], name, follow_symlinks=False)

    def setxattr(self, node: int, name: bytes, value: bytes, flags: int) -> None:
        os.setxattr(self._paths[node], name, value, flags, follow_symlinks=False)

    def listxattr(self, node: int) -> Answer[Sequence[bytes]]:
        return [os.fsencode(name) for name in os.listxattr(self._paths[node], follow_symlinks=False)]

    def removexattr(self, node: int, name: bytes) -> None:
        os.removexattr(self._paths[node], name, follow_symlinks=False)

    # Locks.

    def getlk(self, node: int, lock: Lock) -> Answer[Lock | None]:
        return self._locks[node, lock.whole].in_the_way(lock)

    def setlk(self, node: int, lock: Lock, wait: bool) -> Answer[None]:
        return self._locks[node, lock.whole].set(lock, wait)

    # What these have in common.

    def _path(self, folder: int, name: bytes) -> bytes:
        return self._paths[folder] + b"/" + name

    def _status(self, node: int) -> os.stat_result:
        descriptor = self._files.get(node)
        return os.lstat(self._paths[node]) if descriptor is None else os.fstat(descriptor)

    def _made(self, caller: Caller, folder: int, name: bytes) -> Known:
        os.chown(self._path(folder, name), caller.uid, caller.gid, follow_symlinks=False)
        return self._told(self._path(folder, name))

    def _told(self, path: bytes) -> Known:
        """What the kernel is told of, and counts."""
        status = os.lstat(path)
        node = self._nodes.get(status.st_ino)
        if node is None:
            self._last = node = self._last + 1
            self._nodes[status.st_ino] = node
            self._write_down(node, status.st_ino, path)
        self._paths[node] = path
        self.told[node] += 1
        return self._known(status, node)

    def _known(self, status: os.stat_result, node: int) -> Known:
        attributes = Attributes(
            node,
            status.st_mode,
            status.st_size,
            status.st_uid,
            status.st_gid,
            status.st_mtime_ns,
            status.st_ctime_ns,
            status.st_atime_ns,
            status.st_nlink,
            status.st_blocks,
        )
        return Known(attributes, self.manners.lasts, self.manners.lasts)

    def _file(self, node: int) -> int:
        descriptor = self._files.get(node)
        if descriptor is None:
            path = self._paths[node]
            descriptor = self._files[node] = os.open(path, os.O_RDWR)
        return descriptor

    def _backing(self, node: int, descriptor: int) -> int:
        if not (self.manners.passthrough and self.kernel.passthrough):
            return 0
        if node not in self._backings:
            self._backings[node] = self.kernel.register(descriptor)
        return self._backings[node]

    def _moved(self, old: bytes, new: bytes) -> None:
        below = old + b"/"
        for node, path in self._paths.items():
            if path == old or path.startswith(below):
                self._paths[node] = new + path[len(old) :]

    def _write_down(self, node: int, number: int, path: bytes) -> None:
        if self._journal is not None:
            self._journal.write(b"%d %d %s\n" % (node, number, path))

    def _remember(self) -> None:
        if self._journal is None:
            return
        self._journal.seek(0)
        for line in self._journal.read().splitlines():
            node, number, path = line.split(b" ", 2)
            self._last = int(node)
            self._nodes[int(number)] = self._last
            self._paths[self._last] = path
            self.told[self._last] = 1 << 30
