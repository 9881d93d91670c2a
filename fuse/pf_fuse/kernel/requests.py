"""What each request asks of the operations, and what its answer becomes.

A handler returns the body of the reply, or None if there is none, or none yet. What it decodes lies in the one buffer
into which all requests are read; only the serving thread calls handlers.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import TypeVar

from pf_fuse.kernel import wire
from pf_fuse.kernel.describing import describe
from pf_fuse.kernel.encoding import (
    NANO,
    encode_attributes,
    encode_created,
    encode_data,
    encode_entry,
    encode_lock,
    encode_names,
    encode_nothing,
    encode_opened,
    encode_place,
    encode_statfs,
    encode_value,
    encode_written,
)
from pf_fuse.kernel.folders import Folders, Piece
from pf_fuse.kernel.replies import Encode, Parked, Replies, Undo
from pf_fuse.kernel.resent import forgiving, nothing
from pf_fuse.kernel.wire import ASKER, ASKER_AT, BODY, HEAD, RESENT, Ask, Change
from pf_fuse.operations import Answer, Bytes, Caller, Changes, Known, Lock, Opened, Operations

T = TypeVar("T")
Handler = Callable[[int, int], "Bytes | None"]
"""Takes a request's node and length."""

CAPABILITY = b"security.capability"
"""The kernel asks for it before each write. Mounts are `nosuid`, so that it would mean nothing."""
DEVICES = {stat.S_IFCHR, stat.S_IFBLK}


class Requests:
    """Decodes requests, asks the operations and encodes what they answer."""

    def __init__(self, buffer: bytearray, operations: Operations, replies: Replies, logged: Callable[[], bool]) -> None:
        self._buffer = buffer
        self._view = memoryview(buffer)
        self._operations = operations
        self._replies = replies
        self._logged = logged
        self.chores: deque[Callable[[], object]] = deque()
        """What other threads leave for the serving thread: operations are asked by that one only."""
        self._folders = Folders(self._forget_soon)

    def handlers(self) -> dict[int, Handler]:
        return {
            Ask.LOOKUP: self.lookup,
            Ask.FORGET: self.forget,
            Ask.BATCH_FORGET: self.forget_many,
            Ask.GETATTR: self.getattr,
            Ask.SETATTR: self.setattr,
            Ask.READLINK: self.readlink,
            Ask.SYMLINK: self.symlink,
            Ask.MKNOD: self.mknod,
            Ask.MKDIR: self.mkdir,
            Ask.UNLINK: self.unlink,
            Ask.RMDIR: self.rmdir,
            Ask.RENAME: self.rename,
            Ask.RENAME2: self.rename_with_flags,
            Ask.LINK: self.link,
            Ask.OPEN: self.open,
            Ask.READ: self.reader(),
            Ask.WRITE: self.write,
            Ask.STATFS: self.statfs,
            Ask.RELEASE: self.release,
            Ask.FSYNC: self.fsync,
            Ask.SETXATTR: self.setxattr,
            Ask.GETXATTR: self.getxattr,
            Ask.LISTXATTR: self.listxattr,
            Ask.REMOVEXATTR: self.removexattr,
            Ask.FLUSH: self.flush,
            Ask.OPENDIR: self.opendir,
            Ask.READDIR: partial(self.readdir, False),
            Ask.READDIRPLUS: partial(self.readdir, True),
            Ask.RELEASEDIR: self.releasedir,
            Ask.FSYNCDIR: self.fsyncdir,
            Ask.GETLK: self.getlk,
            Ask.SETLK: partial(self.setlk, False),
            Ask.SETLKW: partial(self.setlk, True),
            Ask.CREATE: self.create,
            Ask.INTERRUPT: self.interrupt,
            Ask.FALLOCATE: self.fallocate,
            Ask.LSEEK: self.lseek,
            Ask.COPY_FILE_RANGE: self.copy_range,
            Ask.NOTIFY_REPLY: self.ignore,
            Ask.DESTROY: self.destroy,
        }

    # What happens most.

    def reader(self) -> Handler:
        """Everything is at hand for it: it is called most of all."""
        buffer, place, ask, later = self._buffer, wire.READ_PLACE.unpack_from, self._operations.read, self._later

        def read(node: int, _: int) -> Bytes | None:
            offset, size = place(buffer, BODY)
            data = ask(node, offset, size)
            if isinstance(data, Future):
                later(data, encode_data)
                return None
            return data

        return read

    def lookup(self, node: int, length: int) -> Bytes | None:
        answer = self._operations.lookup(self._caller(), node, self._name(BODY, length))
        return self._give(answer, encode_entry, self._unknown)

    def getattr(self, node: int, _: int) -> Bytes | None:
        return self._give(self._operations.getattr(self._caller(), node), encode_attributes)

    def forget(self, node: int, _: int) -> None:
        (times,) = wire.FORGET_IN.unpack_from(self._buffer, BODY)
        self._operations.forget([(node, times)])

    def forget_many(self, _node: int, _: int) -> None:
        count, _ = wire.BATCH_FORGET_IN.unpack_from(self._buffer, BODY)
        start = BODY + wire.BATCH_FORGET_IN.size
        nodes = wire.FORGET_ONE.iter_unpack(self._view[start : start + count * wire.FORGET_ONE.size])
        self._operations.forget([(node, times) for node, times in nodes])

    # Files.

    def open(self, node: int, _: int) -> Bytes | None:
        flags, _ = wire.OPEN_IN.unpack_from(self._buffer, BODY)
        answer = self._operations.open(self._caller(), node, flags)
        return self._give(answer, partial(encode_opened, node), partial(self._close, node, flags))

    def create(self, node: int, length: int) -> Bytes | None:
        flags, mode, _, _ = wire.CREATE_IN.unpack_from(self._buffer, BODY)
        new = partial(
            self._operations.create, self._caller(), node, self._name(BODY + wire.CREATE_IN.size, length), mode
        )
        answer = self._once(partial(new, flags), errno.EEXIST, partial(new, flags & ~os.O_EXCL))
        return self._give(answer, encode_created)

    def write(self, node: int, _: int) -> Bytes | None:
        _, offset, size, _, _, flags, _ = wire.READ_IN.unpack_from(self._buffer, BODY)
        data = self._view[wire.WRITE_DATA : wire.WRITE_DATA + size]
        return self._give(self._operations.write(node, offset, data, flags), encode_written)

    def flush(self, node: int, _: int) -> Bytes | None:
        _, _, _, owner = wire.FLUSH_IN.unpack_from(self._buffer, BODY)
        return self._give(self._operations.flush(node, owner), encode_nothing)

    def fsync(self, node: int, _: int) -> Bytes | None:
        _, flags, _ = wire.FSYNC_IN.unpack_from(self._buffer, BODY)
        return self._give(self._operations.fsync(node, bool(flags & wire.FSYNC_DATA_ONLY)), encode_nothing)

    def release(self, node: int, _: int) -> Bytes | None:
        _, flags, besides, owner = wire.RELEASE_IN.unpack_from(self._buffer, BODY)
        owner = owner if besides & wire.RELEASE_FLOCK else 0
        return self._give(self._operations.release(node, flags, owner), encode_nothing)

    def fallocate(self, node: int, _: int) -> Bytes | None:
        _, offset, size, mode, _ = wire.FALLOCATE_IN.unpack_from(self._buffer, BODY)
        return self._give(self._operations.fallocate(node, mode, offset, size), encode_nothing)

    def lseek(self, node: int, _: int) -> Bytes | None:
        _, offset, whence, _ = wire.LSEEK_IN.unpack_from(self._buffer, BODY)
        return self._give(self._operations.lseek(node, offset, whence), encode_place)

    def copy_range(self, node: int, _: int) -> Bytes | None:
        _, offset, target, _, target_offset, size, _ = wire.COPY_RANGE_IN.unpack_from(self._buffer, BODY)
        # The answer has 32 bits; programs ask again for the rest.
        size = min(size, 1 << 30)
        return self._give(self._operations.copy_range(node, offset, target, target_offset, size), encode_written)

    # Names.

    def readlink(self, node: int, _: int) -> Bytes | None:
        return self._give(self._operations.readlink(self._caller(), node), encode_data)

    def mknod(self, node: int, length: int) -> Bytes | None:
        mode, _, _, _ = wire.MKNOD_IN.unpack_from(self._buffer, BODY)
        if stat.S_IFMT(mode) in DEVICES:
            raise PermissionError(errno.EPERM, "no devices are made here")
        name = self._name(BODY + wire.MKNOD_IN.size, length)
        return self._new(node, name, partial(self._operations.mknod, self._caller(), node, name, mode))

    def mkdir(self, node: int, length: int) -> Bytes | None:
        mode, _ = wire.MKDIR_IN.unpack_from(self._buffer, BODY)
        name = self._name(BODY + wire.MKDIR_IN.size, length)
        return self._new(node, name, partial(self._operations.mkdir, self._caller(), node, name, mode))

    def symlink(self, node: int, length: int) -> Bytes | None:
        name, target = self._names(BODY, length)
        return self._new(node, name, partial(self._operations.symlink, self._caller(), node, name, target))

    def link(self, node: int, length: int) -> Bytes | None:
        (linked,) = wire.LINK_IN.unpack_from(self._buffer, BODY)
        name = self._name(BODY + wire.LINK_IN.size, length)
        return self._new(node, name, partial(self._operations.link, self._caller(), linked, node, name))

    def _new(self, folder: int, name: bytes, operation: Callable[[], Answer[Known]]) -> Bytes | None:
        there = partial(self._operations.lookup, self._caller(), folder, name)
        return self._give(self._once(operation, errno.EEXIST, there), encode_entry)

    def unlink(self, node: int, length: int) -> Bytes | None:
        operation = partial(self._operations.unlink, self._caller(), node, self._name(BODY, length))
        return self._give(self._once(operation, errno.ENOENT, nothing), encode_nothing)

    def rmdir(self, node: int, length: int) -> Bytes | None:
        operation = partial(self._operations.rmdir, self._caller(), node, self._name(BODY, length))
        return self._give(self._once(operation, errno.ENOENT, nothing), encode_nothing)

    def rename(self, node: int, length: int) -> Bytes | None:
        (folder,) = wire.RENAME_IN.unpack_from(self._buffer, BODY)
        return self._rename(node, folder, 0, self._names(BODY + wire.RENAME_IN.size, length))

    def rename_with_flags(self, node: int, length: int) -> Bytes | None:
        folder, flags, _ = wire.RENAME2_IN.unpack_from(self._buffer, BODY)
        return self._rename(node, folder, flags, self._names(BODY + wire.RENAME2_IN.size, length))

    def _rename(self, node: int, folder: int, flags: int, names: tuple[bytes, bytes]) -> Bytes | None:
        name, new_name = names
        operation = partial(self._operations.rename, self._caller(), node, name, folder, new_name, flags)
        return self._give(self._once(operation, errno.ENOENT, nothing), encode_nothing)

    # Folders.

    def opendir(self, node: int, _: int) -> Bytes | None:
        answer = self._operations.opendir(self._caller(), node)
        return self._give(answer, partial(encode_opened, node), partial(self._close_folder, node))

    def readdir(self, plus: bool, node: int, _: int) -> Bytes | None:
        _, offset, size, _, _, _, _ = wire.READ_IN.unpack_from(self._buffer, BODY)
        piece = Piece(self._folders, node, offset, size, plus)
        if piece.wanted <= 0:
            return piece.encode(())
        try:
            answer = self._operations.readdir(node, piece.goes_on, piece.wanted)
        except BaseException:
            piece.fail(None)
            raise
        return self._give(answer, piece.encode, piece.fail)

    def releasedir(self, node: int, _: int) -> Bytes | None:
        self._folders.closed(node)
        return self._give(self._operations.releasedir(node), encode_nothing)

    def fsyncdir(self, node: int, _: int) -> Bytes | None:
        return self._give(self._operations.fsyncdir(node), encode_nothing)

    # Attributes.

    def setattr(self, node: int, _: int) -> Bytes | None:
        return self._give(self._operations.setattr(self._caller(), node, self._changes()), encode_attributes)

    def _changes(self) -> Changes:
        fields = wire.SETATTR_IN.unpack_from(self._buffer, BODY)
        which, _, _, size, _, accessed, modified, _, accessed_rest, modified_rest, _, mode, _, uid, gid, _ = fields
        now = time.time_ns() if which & (Change.ACCESSED_NOW | Change.MODIFIED_NOW) else 0
        accessed = now if which & Change.ACCESSED_NOW else accessed * NANO + accessed_rest
        modified = now if which & Change.MODIFIED_NOW else modified * NANO + modified_rest
        return Changes(
            mode=mode if which & Change.MODE else None,
            uid=uid if which & Change.UID else None,
            gid=gid if which & Change.GID else None,
            size=size if which & Change.SIZE else None,
            accessed=accessed if which & Change.ACCESSED else None,
            modified=modified if which & Change.MODIFIED else None,
            by_handle=bool(which & Change.BY_HANDLE),
        )

    def statfs(self, node: int, _: int) -> Bytes | None:
        return self._give(self._operations.statfs(node), encode_statfs)

    def getxattr(self, node: int, length: int) -> Bytes | None:
        room, _ = wire.GETXATTR_IN.unpack_from(self._buffer, BODY)
        name = self._name(BODY + wire.GETXATTR_IN.size, length)
        if name == CAPABILITY:
            raise OSError(errno.ENODATA, "programs get no rights from a mount")
        answer = self._operations.getxattr(node, name)
        return self._give(answer, partial(encode_value, room))

    def setxattr(self, node: int, _: int) -> Bytes | None:
        size, flags = wire.SETXATTR_IN.unpack_from(self._buffer, BODY)
        start = BODY + wire.SETXATTR_IN.size
        end = self._buffer.index(0, start)
        name, value = bytes(self._view[start:end]), bytes(self._view[end + 1 : end + 1 + size])
        operation = partial(self._operations.setxattr, node, name, value, flags)
        return self._give(self._once(operation, errno.EEXIST, nothing), encode_nothing)

    def listxattr(self, node: int, _: int) -> Bytes | None:
        room, _ = wire.GETXATTR_IN.unpack_from(self._buffer, BODY)
        return self._give(self._operations.listxattr(node), partial(encode_names, room))

    def removexattr(self, node: int, length: int) -> Bytes | None:
        operation = partial(self._operations.removexattr, node, self._name(BODY, length))
        return self._give(self._once(operation, errno.ENODATA, nothing), encode_nothing)

    # Locks.

    def getlk(self, node: int, _: int) -> Bytes | None:
        return self._give(self._operations.getlk(node, self._lock()), encode_lock)

    def setlk(self, wait: bool, node: int, _: int) -> Bytes | None:
        return self._give(self._operations.setlk(node, self._lock(), wait), encode_nothing)

    def _lock(self) -> Lock:
        _, owner, start, end, kind, pid, flags, _ = wire.LOCK_IN.unpack_from(self._buffer, BODY)
        return Lock(owner, start, end, kind, pid, bool(flags & wire.LOCK_FLOCK))

    # The connection.

    def interrupt(self, _node: int, _: int) -> None:
        (unique,) = wire.INTERRUPT_IN.unpack_from(self._buffer, BODY)
        self._replies.interrupt(unique)

    def destroy(self, _node: int, _: int) -> Bytes:
        """The device says so again, and then it ends."""
        return b""

    def ignore(self, _node: int, _: int) -> None:
        """Nothing is asked."""

    # What these have in common.

    def _caller(self) -> Caller:
        return Caller(*ASKER.unpack_from(self._buffer, ASKER_AT))

    def _name(self, start: int, length: int) -> bytes:
        """The last thing in a request, without the zero byte that ends it."""
        return bytes(self._view[start : length - 1])

    def _names(self, start: int, length: int) -> tuple[bytes, bytes]:
        first, second, _ = bytes(self._view[start:length]).split(b"\0")
        return first, second

    def _once(self, operation: Callable[[], Answer[T]], number: int, instead: Callable[[], Answer[T]]) -> Answer[T]:
        """For what cannot be done twice; the number is how it fails the second time."""
        _, _, unique, _ = HEAD.unpack_from(self._buffer)
        return forgiving(operation, number, instead) if unique & RESENT else operation()

    def _give(self, answer: Answer[T], encode: Encode[T], undo: Undo[T] | None = None) -> Bytes | None:
        if isinstance(answer, Future):
            self._later(answer, encode, undo)
            return None
        return encode(answer)

    def _later(self, future: Future[T], encode: Encode[T], undo: Undo[T] | None = None) -> None:
        length, ask, unique, _ = HEAD.unpack_from(self._buffer)
        _, _, thread = ASKER.unpack_from(self._buffer, ASKER_AT)
        words = describe(self._view[:length]) if self._logged() else ""
        self._replies.park(Parked(unique, ask, time.perf_counter_ns(), future, encode, undo, thread, words))

    # Answers that came when nobody waited for them any more.

    def _unknown(self, known: Known | None) -> None:
        if known is not None and known.attributes is not None:
            self._forget_soon([(known.attributes.node, 1)])

    def _forget_soon(self, nodes: Sequence[tuple[int, int]]) -> None:
        self.chores.append(partial(self._operations.forget, nodes))

    def _close(self, node: int, flags: int, opened: Opened | None) -> None:
        if opened is not None:
            self.chores.append(partial(self._operations.release, node, flags, 0))

    def _close_folder(self, node: int, opened: Opened | None) -> None:
        if opened is not None:
            self.chores.append(partial(self._operations.releasedir, node))
