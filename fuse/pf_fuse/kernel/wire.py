"""The messages between the kernel and a filesystem outside of it, as <linux/fuse.h> lays them down.

All numbers are in the processor's order without gaps; each layout is a multiple of eight bytes. Times are seconds and
nanoseconds apart: first the seconds of all, then the rest of all.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag
from struct import Struct

MAJOR = 7
MINOR = 40
"""The newest version of the protocol that is spoken here: that of Linux 6.9."""
OLDEST_MINOR = 31
"""The oldest: that of Linux 5.4."""

HEAD = Struct("=IIQQ")
"""Of every request: its length, what is asked, its number, the node."""
ASKER = Struct("=III")
"""The rest of a request's head: user, group and process."""
ASKER_AT = HEAD.size
BODY = 40
"""Where a request's body begins."""

REPLY = Struct("=IiQ")
"""Of every reply: its length, 0 or what went wrong as a negative number, the request's number.

A notice has 0 for the request's number and says in the second place what it is.
"""


class Ask(IntEnum):
    """What a request asks for."""

    LOOKUP = 1
    FORGET = 2
    GETATTR = 3
    SETATTR = 4
    READLINK = 5
    SYMLINK = 6
    MKNOD = 8
    MKDIR = 9
    UNLINK = 10
    RMDIR = 11
    RENAME = 12
    LINK = 13
    OPEN = 14
    READ = 15
    WRITE = 16
    STATFS = 17
    RELEASE = 18
    FSYNC = 20
    SETXATTR = 21
    GETXATTR = 22
    LISTXATTR = 23
    REMOVEXATTR = 24
    FLUSH = 25
    INIT = 26
    OPENDIR = 27
    READDIR = 28
    RELEASEDIR = 29
    FSYNCDIR = 30
    GETLK = 31
    SETLK = 32
    SETLKW = 33
    ACCESS = 34
    CREATE = 35
    INTERRUPT = 36
    BMAP = 37
    DESTROY = 38
    IOCTL = 39
    POLL = 40
    NOTIFY_REPLY = 41
    BATCH_FORGET = 42
    FALLOCATE = 43
    READDIRPLUS = 44
    RENAME2 = 45
    LSEEK = 46
    COPY_FILE_RANGE = 47
    SETUPMAPPING = 48
    REMOVEMAPPING = 49
    SYNCFS = 50
    TMPFILE = 51
    STATX = 52


ASKS = 64
"""More than there are kinds of requests."""

RESENT = 1 << 63
"""In a request's number: it was sent before, to a process that did not answer."""


class Notice(IntEnum):
    """What the kernel is told without having asked."""

    INVALIDATE_NODE = 2
    INVALIDATE_NAME = 3
    RESEND = 7


class Change(IntFlag):
    """Which attributes SETATTR sets."""

    MODE = 1 << 0
    UID = 1 << 1
    GID = 1 << 2
    SIZE = 1 << 3
    ACCESSED = 1 << 4
    MODIFIED = 1 << 5
    BY_HANDLE = 1 << 6
    """No attribute: who sets them has the file open, and will close it."""
    ACCESSED_NOW = 1 << 7
    MODIFIED_NOW = 1 << 8


class Open(IntFlag):
    """How the kernel treats what was opened."""

    DIRECT_IO = 1 << 0
    KEEP_CACHE = 1 << 1
    CACHE_DIR = 1 << 3
    NO_FLUSH = 1 << 5
    PARALLEL_DIRECT_WRITES = 1 << 6
    PASSTHROUGH = 1 << 7


# What requests carry.
INIT_IN = Struct("=IIIII")
"""Major and minor version, read-ahead in bytes, features, more features."""
FORGET_IN = Struct("=Q")
FORGET_ONE = Struct("=QQ")
"""A node and how often."""
BATCH_FORGET_IN = Struct("=II")
SETATTR_IN = Struct("=IIQQQqqqIIIIIIII")
"""Which, gap, handle, size, lock owner, three times, three rests, mode, gap, user, group, gap."""
MKNOD_IN = Struct("=IIII")
"""Mode, device, umask, gap."""
MKDIR_IN = Struct("=II")
RENAME_IN = Struct("=Q")
RENAME2_IN = Struct("=QII")
LINK_IN = Struct("=Q")
OPEN_IN = Struct("=II")
CREATE_IN = Struct("=IIII")
"""Flags, mode, umask, more flags."""
RELEASE_IN = Struct("=QIIQ")
"""Handle, flags, what to release besides, lock owner."""
FLUSH_IN = Struct("=QIIQ")
READ_IN = Struct("=QQIIQII")
"""Handle, offset, size, what is valid, lock owner, flags of the open file, gap. WRITE has the same, then the data."""
READ_PLACE = Struct("=8xQI")
"""Of READ_IN what is needed to read."""
SETXATTR_IN = Struct("=II")
GETXATTR_IN = Struct("=II")
FSYNC_IN = Struct("=QII")
LOCK_IN = Struct("=QQQQIIII")
"""Handle, owner, first and last byte, kind, process, flags, gap."""
INTERRUPT_IN = Struct("=Q")
FALLOCATE_IN = Struct("=QQQII")
"""Handle, offset, length, mode, gap."""
LSEEK_IN = Struct("=QQII")
COPY_RANGE_IN = Struct("=QQQQQQQ")
"""Handle and offset, node, handle and offset of the target, length, flags."""

WRITE_DATA = BODY + READ_IN.size
"""Where the data of WRITE begins."""
FSYNC_DATA_ONLY = 1 << 0
RELEASE_FLOCK = 1 << 1
LOCK_FLOCK = 1 << 0

# What replies carry.
INIT_OUT = Struct("=IIIIHHIIHHIIH22x")
"""Major and minor version, read-ahead, features, how many in the background and from when on that is many, the largest
write, grain of time, pages of a request, alignment, more features, depth of passthrough, timeout of requests."""
_ATTRIBUTES = "QQQqqqIIIIIIIIII"
ENTRY_OUT = Struct("=QQQQII" + _ATTRIBUTES)
"""Node, generation, seconds for the name and the attributes, nanoseconds of both.

Attributes: node, size, blocks, three times, three rests, mode, links, user, group, device, size of a block, flags."""
ATTR_OUT = Struct("=QII" + _ATTRIBUTES)
OPEN_OUT = Struct("=QIi")
"""Handle, flags, the number of a registered file."""
WRITE_OUT = Struct("=II")
STATFS_OUT = Struct("=QQQQQIIII24x")
SIZE_OUT = Struct("=II")
"""How long the value of an extended attribute is."""
LOCK_OUT = Struct("=QQII")
LSEEK_OUT = Struct("=Q")
DIRENT = Struct("=QQII")
"""Node, where the list goes on, length of the name that follows, kind."""
DIRENT_PLUS = Struct(ENTRY_OUT.format + DIRENT.format[1:])

# What notices carry.
INVALIDATE_NODE_OUT = Struct("=Qqq")
"""Node, offset, length. An offset below 0: its attributes only; a length of 0: to the end."""
INVALIDATE_NAME_OUT = Struct("=QII")
"""Folder, length of the name that follows, flags; ends with a zero byte."""
EXPIRE_ONLY = 1 << 0

# Calls on the device itself.
CLONE = 0x8004E500
BACKING_OPEN = 0x4010E501
BACKING_CLOSE = 0x4004E502
BACKING_MAP = Struct("=iIQ")
"""A descriptor, flags, a gap."""
BACKING_ID = Struct("=I")
