"""Calls of Linux that Python has no functions for. Numbers are those of the kernel's headers."""

from __future__ import annotations

import ctypes
import os
from enum import IntFlag

LIBC = ctypes.CDLL(None, use_errno=True)
"""It lets other threads run while it calls, which mounting may wait for."""

_OPEN_TREE, _MOVE_MOUNT, _OPENAT2, _MOUNT_SETATTR = 428, 429, 437, 442
_FSOPEN, _FSCONFIG, _FSMOUNT = 430, 431, 432
_CONFIGURED, _AS_USUAL = 6, 1
_AT_FDCWD, _AT_SYMLINK_NOFOLLOW, _AT_EMPTY_PATH = -100, 0x100, 0x1000
_CLONE, _CLOEXEC = 1, os.O_CLOEXEC
_PRIVATE = 1 << 18
"""From <linux/mount.h>; what is placed below a shared mount becomes one of a group of its own."""
_MOVE_FROM_DESCRIPTOR, _MOVE_TO_DESCRIPTOR = 0x4, 0x40


class Resolving(IntFlag):
    """How a path is looked up; from <linux/openat2.h>."""

    NO_MAGIC_LINKS = 0x02
    NO_LINKS = 0x04
    BENEATH = 0x08


class Restricting(IntFlag):
    """What a mount does not allow; from <linux/mount.h>."""

    READ_ONLY = 1
    NO_SETUID = 2
    NO_DEVICES = 4


class Unmounting(IntFlag):
    """How something is unmounted; from <linux/fs.h>."""

    PLAIN = 0
    DETACH = 2
    """The place is free at once; who has something open goes on."""
    NO_FOLLOW = 8


def open_beneath(folder: int, path: str, flags: int, resolving: Resolving, mode: int = 0) -> int:
    """A descriptor of what lies at a path, looked up from an open folder."""
    # struct open_how: flags, mode, resolve.
    how = (ctypes.c_uint64 * 3)(flags | os.O_CLOEXEC, mode, int(resolving))
    size = ctypes.c_size_t(ctypes.sizeof(how))
    return _call(_OPENAT2, path, ctypes.c_int(folder), os.fsencode(path), ctypes.byref(how), size)


def cloned(path: str) -> int:
    """A descriptor of a mount like the one at this path, which is in no place yet."""
    flags = ctypes.c_uint(_CLONE | _CLOEXEC | _AT_SYMLINK_NOFOLLOW)
    return _call(_OPEN_TREE, path, ctypes.c_int(_AT_FDCWD), os.fsencode(path), flags)


def cloned_beneath(folder: int, path: str) -> int:
    """The same, of a path below an open folder."""
    flags = ctypes.c_uint(_CLONE | _CLOEXEC | _AT_SYMLINK_NOFOLLOW | (0 if path else _AT_EMPTY_PATH))
    return _call(_OPEN_TREE, path, ctypes.c_int(folder), os.fsencode(path), flags)


def restrict(mount: int, what: Restricting) -> None:
    """From then on, before anybody can see the mount if it is in no place yet.

    It leaves the group of the one that it was cloned of: else what is mounted on one of them appears on all.
    """
    # struct mount_attr: what to set, what to clear, propagation, user namespace.
    attributes = (ctypes.c_uint64 * 4)(int(what), 0, _PRIVATE, 0)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    empty = ctypes.c_uint(_AT_EMPTY_PATH)
    _call(_MOUNT_SETATTR, "a mount", ctypes.c_int(mount), b"", empty, ctypes.byref(attributes), size)


def place(mount: int, folder: int) -> None:
    """Puts a mount over an open folder."""
    flags = ctypes.c_uint(_MOVE_FROM_DESCRIPTOR | _MOVE_TO_DESCRIPTOR)
    _call(_MOVE_MOUNT, "a mount", ctypes.c_int(mount), b"", ctypes.c_int(folder), b"", flags)


def unseen(kind: str) -> int:
    """A descriptor of a filesystem of this kind, which is in no place."""
    described = _call(_FSOPEN, kind, os.fsencode(kind), ctypes.c_uint(_AS_USUAL))
    try:
        _call(_FSCONFIG, kind, ctypes.c_int(described), ctypes.c_uint(_CONFIGURED), None, None, ctypes.c_int(0))
        return _call(_FSMOUNT, kind, ctypes.c_int(described), ctypes.c_uint(_AS_USUAL), ctypes.c_uint(0))
    finally:
        os.close(described)


def unmount(path: str, flags: Unmounting) -> None:
    _checked(LIBC.umount2(os.fsencode(path), ctypes.c_int(flags)), path)


def _call(number: int, what: str, *arguments: object) -> int:
    return _checked(LIBC.syscall(ctypes.c_long(number), *arguments), what)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result
