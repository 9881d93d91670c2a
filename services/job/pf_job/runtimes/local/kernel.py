"""Calls of Linux that Python 3.11 has no functions for. Numbers are those of the kernel's headers."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from enum import IntFlag


class Namespace(IntFlag):
    """What a process sees of the machine; from <linux/sched.h>."""

    NONE = 0
    MOUNTS = 0x00020000
    IPC = 0x08000000
    USERS = 0x10000000
    PROCESSES = 0x20000000


class Mounting(IntFlag):
    """How something is mounted; from <linux/mount.h>."""

    NONE = 0
    READ_ONLY = 1
    NO_SETUID = 2
    NO_DEVICES = 4
    REMOUNT = 32
    BIND = 4096
    RECURSIVE = 16384
    UNBINDABLE = 1 << 17
    PRIVATE = 1 << 18


CLONE_NUMBERS = {"x86_64": 56, "aarch64": 220}
PIVOT_NUMBERS = {"x86_64": 155, "aarch64": 41}
KEYCTL_NUMBERS = {"x86_64": 250, "aarch64": 219}
MOUNT_SETATTR = 442
SIGCHLD = 17
AT_FDCWD = -100
AT_RECURSIVE = 0x8000
MNT_DETACH = 2
KEYCTL_JOIN_SESSION_KEYRING = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
KEEP_SIZE_AND_PUNCH = 3
WRITTEN, REMOVED = 0x2, 0x400
LOCKED_FLAGS = 0x2 | 0x4 | 0x8 | 0x400 | 0x800 | 0x200000
"""Flags of a mount that a remount has to repeat: nosuid, nodev, noexec, noatime, nodiratime, relatime."""
ST_RELATIME = 0x1000

# It holds the interpreter's lock while it calls, so that a new process finds the lock taken by itself.
LIBC = ctypes.PyDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result


def _syscall(number: int, what: str, *arguments: ctypes.c_long | ctypes.c_char_p | ctypes.c_void_p) -> int:
    return _checked(LIBC.syscall(ctypes.c_long(number), *arguments), what)


def fork_into(namespaces: Namespace) -> int:
    """Forks, the child being in new namespaces from its first moment on. Only for processes of one thread."""
    if not namespaces:
        return os.fork()
    number = CLONE_NUMBERS.get(os.uname().machine)
    if number is None:
        raise OSError(38, "namespaces are not known for this kind of processor", os.uname().machine)
    zeros = [ctypes.c_long(0)] * 4
    ctypes.pythonapi.PyOS_BeforeFork()
    result = int(LIBC.syscall(ctypes.c_long(number), ctypes.c_long(int(namespaces) | SIGCHLD), *zeros))
    failure = ctypes.get_errno()
    if result == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
        return 0
    ctypes.pythonapi.PyOS_AfterFork_Parent()
    if result < 0:
        raise OSError(failure, os.strerror(failure), "new namespaces")
    return result


def mount(source: str | None, target: str, kind: str | None, flags: Mounting, data: str | None = None) -> None:
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    _checked(LIBC.mount(*texts[:3], ctypes.c_ulong(flags), texts[3]), target)


def restrict(target: str, flags: Mounting) -> None:
    """Adds restrictions to a mount, and where the kernel can (since 5.12) to all that is mounted below it."""
    # struct mount_attr: what to set, what to clear, propagation, user namespace. These flags have the same numbers.
    attributes = (ctypes.c_uint64 * 4)(int(flags), 0, 0, 0)
    try:
        _syscall(
            MOUNT_SETATTR,
            target,
            ctypes.c_long(AT_FDCWD),
            ctypes.c_char_p(os.fsencode(target)),
            ctypes.c_long(AT_RECURSIVE),
            ctypes.cast(attributes, ctypes.c_void_p),
            ctypes.c_long(ctypes.sizeof(attributes)),
        )
    except OSError as problem:
        if problem.errno != 38:
            raise
        _remount(target, flags)


def _remount(target: str, flags: Mounting) -> None:
    found = os.statvfs(target).f_flag
    kept = found & LOCKED_FLAGS & ~0x200000 | (0x200000 if found & ST_RELATIME else 0)
    mount(None, target, None, Mounting(int(flags | Mounting.REMOUNT | Mounting.BIND) | kept))


def enter_root(folder: str) -> None:
    """Makes a mounted folder the root, and lets go of the one before."""
    os.chdir(folder)
    number = PIVOT_NUMBERS[os.uname().machine]
    _syscall(number, folder, ctypes.c_char_p(b"."), ctypes.c_char_p(b"."))
    _checked(LIBC.umount2(b".", MNT_DETACH), "the former root")
    os.chdir("/")


def _prctl(option: int, value: int) -> None:
    zero = ctypes.c_ulong(0)
    _checked(LIBC.prctl(ctypes.c_int(option), ctypes.c_ulong(value), zero, zero, zero), "prctl")


def become_subreaper() -> None:
    """Makes orphans below this process its children."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def forbid_new_privileges() -> None:
    """From here on no program gets more rights than this process has, whatever its file says."""
    _prctl(PR_SET_NO_NEW_PRIVS, 1)


def leave_keys() -> None:
    """From here on the keys that the kernel holds for the session in which this process was started are not its own."""
    number = KEYCTL_NUMBERS.get(os.uname().machine)
    # Where nobody may use keys, there are none to leave.
    if number is not None:
        with suppress(OSError):
            _syscall(number, "keys", ctypes.c_long(KEYCTL_JOIN_SESSION_KEYRING), ctypes.c_char_p(None))


def forbid_inspection() -> None:
    """Lets no other process of the same user look into this one."""
    _prctl(PR_SET_DUMPABLE, 0)


def new_notices() -> int:
    """A handle from which can be read what happens to files."""
    return _checked(LIBC.inotify_init1(ctypes.c_int(os.O_NONBLOCK | os.O_CLOEXEC)), "inotify")


def notice_file(notices: int, file: str) -> int:
    """Has it told that a file grows, or is gone; the number that the file has there."""
    events = ctypes.c_uint32(WRITTEN | REMOVED)
    return _checked(LIBC.inotify_add_watch(ctypes.c_int(notices), ctypes.c_char_p(os.fsencode(file)), events), file)


def forget_file(notices: int, number: int) -> None:
    _checked(LIBC.inotify_rm_watch(ctypes.c_int(notices), ctypes.c_int(number)), "inotify")


def punch_hole(handle: int, offset: int, length: int) -> None:
    """Gives back the room that a part of a file takes; the part reads as zeros."""
    arguments = ctypes.c_int(handle), ctypes.c_int(KEEP_SIZE_AND_PUNCH), ctypes.c_int64(offset), ctypes.c_int64(length)
    _checked(LIBC.fallocate64(*arguments), "fallocate")
