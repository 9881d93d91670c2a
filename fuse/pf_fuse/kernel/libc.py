"""Calls of Linux that Python 3.11 has no functions for. Numbers are those of the kernel's headers."""

from __future__ import annotations

import ctypes
import os
from enum import IntFlag

LIBC = ctypes.CDLL(None, use_errno=True)
"""It lets other threads run while it calls, which mounting and unmounting may wait for."""


_NAME, _SUBREAPER = 15, 36
"""From <linux/prctl.h>."""


class Mounting(IntFlag):
    """How something is mounted; from <linux/mount.h>."""

    NONE = 0
    READ_ONLY = 1
    NO_SETUID = 2
    NO_DEVICES = 4
    NO_PROGRAMS = 8
    NO_ATIME = 1024


class Unmounting(IntFlag):
    """How something is unmounted; from <linux/fs.h>."""

    PLAIN = 0
    DETACH = 2
    """The place is free at once; what is open stays so."""
    NO_FOLLOW = 8


def mount(source: str, target: str, kind: str, flags: Mounting, data: str) -> None:
    texts = [os.fsencode(text) for text in (source, target, kind, data)]
    _check(LIBC.mount(*texts[:3], ctypes.c_ulong(flags), texts[3]), target)


def adopt_orphans() -> None:
    """Processes whose parent has ended become children of this one."""
    LIBC.prctl(_SUBREAPER, 1, 0, 0, 0)


def name_process(name: str) -> None:
    """What `ps -e` calls this process; of 15 letters at most."""
    LIBC.prctl(_NAME, name.encode(), 0, 0, 0)


def unmount(target: str, flags: Unmounting) -> None:
    _check(LIBC.umount2(os.fsencode(target), ctypes.c_int(flags)), target)


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
