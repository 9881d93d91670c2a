"""What a transport needs of whoever answers the kernel, and what it makes of the answers.

Both transports call one `Operations` object, from one thread. An operation answers at once, or with a future that some
other thread completes: what is at hand never waits for a thread. It fails with an OSError, at once or in the future,
whose number the program that asked is told; whatever else is raised is EIO and written to the log.

The handle of an open file or folder is its node: a new process that goes on with the mount of one that was killed knows
what each means. Nodes are given out once for each thing and for as long as the mount lasts, over restarts too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from enum import IntFlag
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

# What is told of each thing in a folder is made ten thousand times for a list of ten thousand: as tuples, which take
# half of the time that other frozen values take.
T = TypeVar("T")
Answer: TypeAlias = "T | Future[T]"
Bytes: TypeAlias = "bytes | bytearray | memoryview"

TOP = 1
"""The node of the folder that is mounted."""


class Caller(NamedTuple):
    """Who asks."""

    uid: int
    gid: int
    pid: int


class Attributes(NamedTuple):
    """What `stat` tells; times in nanoseconds since 1970."""

    node: int
    mode: int
    """The kind and the permissions."""
    size: int
    uid: int
    gid: int
    modified: int
    changed: int
    accessed: int
    links: int = 1
    blocks: int = 0
    """Of 512 bytes."""


class Known(NamedTuple):
    """A thing and for how long the kernel needs not ask again, in seconds."""

    attributes: Attributes | None
    """None: there is nothing of the name, which is good to know too."""
    name_lasts: float
    attributes_last: float


class Reach(IntFlag):
    """How the kernel is to treat an open file or folder."""

    NOTHING = 0
    KEEP_CACHE = 1
    """What it has cached of it is still right."""
    DIRECT = 2
    """It caches nothing and asks for what a program asks for."""
    NO_FLUSH = 4
    """Nothing needs to be done when a program closes it."""
    CACHE_FOLDER = 8
    """It may keep the list of what is in the folder."""


@dataclass(frozen=True, slots=True)
class Opened:
    """An open file or folder."""

    reach: Reach = Reach.NOTHING
    backing: int = 0
    """What `Kernel.register` gave for the file that the kernel is to read by itself; 0: it asks for what is read."""


class Named(NamedTuple):
    """One of the things in a folder."""

    name: bytes
    place: int
    """Where the list goes on after it."""
    known: Known


@dataclass(frozen=True, slots=True)
class Changes:
    """What is to be set of a thing's attributes; what is None stays."""

    mode: int | None = None
    uid: int | None = None
    gid: int | None = None
    size: int | None = None
    accessed: int | None = None
    modified: int | None = None
    by_handle: bool = False
    """Who asks for it has the file open to write, and will close it."""


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock of a range of a file."""

    owner: int
    """Of whoever holds it, as the kernel calls it."""
    start: int
    end: int
    """The last byte of it."""
    kind: int
    """F_RDLCK, F_WRLCK or F_UNLCK."""
    pid: int
    whole: bool = False
    """True for one by `flock`."""


class Kernel(Protocol):
    """What operations may ask of the transport, from any thread."""

    @property
    def again(self) -> bool:
        """True while an operation is asked that a process before may have done and not answered."""

    @property
    def passthrough(self) -> bool:
        """True if files can be registered."""

    @property
    def zero_open(self) -> bool:
        """True if the kernel does without asking to open and close files and folders.

        It does once `open`, `flush` and `opendir` have failed with ENOSYS.
        """

    def register(self, descriptor: int) -> int:
        """A number by which the kernel reads this file of another filesystem by itself. OSError if it will not."""

    def unregister(self, backing: int) -> None:
        """The number is free again, once no file is open by it."""

    def forget_data(self, node: int) -> None:
        """What the kernel has cached of a thing, its attributes too, is not right any more."""

    def forget_name(self, folder: int, name: bytes) -> None:
        """What the kernel knows of a name is not right any more."""

    def watch(self, descriptor: int, heard: Callable[[], None]) -> None:
        """Calls it whenever something is to be read there, and once before: by the thread that asks the operations."""

    def unwatch(self, descriptor: int) -> None:
        """To be called by that thread."""

    def settle(self) -> None:
        """Returns when the kernel has heard all this. Not to be called where it is answered."""


class Operations(Protocol):
    """Whoever answers the kernel. Names are as programs give them, never empty, ``.`` or ``..``."""

    def begin(self, kernel: Kernel) -> None:
        """The mount is there: called before all else, also by whoever goes on with the mount of another process."""

    def end(self) -> None:
        """The mount is gone: finishes what must not be lost."""

    def lookup(self, caller: Caller, folder: int, name: bytes) -> Answer[Known]: ...

    def forget(self, nodes: Sequence[tuple[int, int]]) -> None:
        """The kernel has let go of nodes so many times each: as often as it was told of them, it knows them no more."""

    def getattr(self, caller: Caller, node: int) -> Answer[Known]: ...

    def setattr(self, caller: Caller, node: int, changes: Changes) -> Answer[Known]: ...

    def readlink(self, caller: Caller, node: int) -> Answer[bytes]: ...

    def mknod(self, caller: Caller, folder: int, name: bytes, mode: int) -> Answer[Known]: ...

    def mkdir(self, caller: Caller, folder: int, name: bytes, mode: int) -> Answer[Known]: ...

    def symlink(self, caller: Caller, folder: int, name: bytes, target: bytes) -> Answer[Known]: ...

    def link(self, caller: Caller, node: int, folder: int, name: bytes) -> Answer[Known]: ...

    def unlink(self, caller: Caller, folder: int, name: bytes) -> Answer[None]: ...

    def rmdir(self, caller: Caller, folder: int, name: bytes) -> Answer[None]: ...

    def rename(
        self, caller: Caller, folder: int, name: bytes, new_folder: int, new_name: bytes, flags: int
    ) -> Answer[None]:
        """Flags are those of renameat2."""

    def open(self, caller: Caller, node: int, flags: int) -> Answer[Opened]: ...

    def create(
        self, caller: Caller, folder: int, name: bytes, mode: int, flags: int
    ) -> Answer[tuple[Known, Opened]]: ...

    def read(self, node: int, offset: int, size: int) -> Answer[Bytes]:
        """As many bytes as are asked for, fewer only at the end. They are sent before the next operation is asked."""

    def write(self, node: int, offset: int, data: memoryview, flags: int) -> Answer[int]:
        """The memory is the transport's: it is good until the operation returns."""

    def flush(self, node: int, owner: int) -> Answer[None]:
        """A program closes one of its descriptors; the owner's locks by `fcntl` end."""

    def fsync(self, node: int, data_only: bool) -> Answer[None]: ...

    def release(self, node: int, flags: int, owner: int) -> Answer[None]:
        """The last descriptor of one `open` is closed; the owner's locks by `flock` end."""

    def fallocate(self, node: int, mode: int, offset: int, length: int) -> Answer[None]: ...

    def lseek(self, node: int, offset: int, whence: int) -> Answer[int]:
        """SEEK_DATA and SEEK_HOLE; the kernel does the others."""

    def copy_range(self, node: int, offset: int, target: int, target_offset: int, length: int) -> Answer[int]: ...

    def opendir(self, caller: Caller, node: int) -> Answer[Opened]: ...

    def readdir(self, node: int, place: int, count: int) -> Answer[Sequence[Named]]:
        """At most so many of the things in a folder from a place on, without ``.`` and ``..``; none at the end.

        The kernel knows each thing that it is told of from then on: see `forget`.
        """

    def releasedir(self, node: int) -> Answer[None]: ...

    def fsyncdir(self, node: int) -> Answer[None]: ...

    def statfs(self, node: int) -> Answer[os.statvfs_result]: ...

    def getxattr(self, node: int, name: bytes) -> Answer[bytes]: ...

    def setxattr(self, node: int, name: bytes, value: bytes, flags: int) -> Answer[None]: ...

    def listxattr(self, node: int) -> Answer[Sequence[bytes]]: ...

    def removexattr(self, node: int, name: bytes) -> Answer[None]: ...

    def getlk(self, node: int, lock: Lock) -> Answer[Lock | None]:
        """One that is in the way, or None."""

    def setlk(self, node: int, lock: Lock, wait: bool) -> Answer[None]:
        """The future of one that waits is cancelled when the program gives up; that of no other operation ever is."""
