"""Processes that nobody waits for: those that clients of mounts leave when they end."""

from __future__ import annotations

import asyncio
import ctypes
import os
from contextlib import suppress
from pathlib import Path

_EVERY = 1.0
_SUBREAPER = 36
"""From <linux/prctl.h>."""


def adopt_orphans() -> None:
    """Processes whose parent has ended become children of this one."""
    ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)


async def reap() -> None:
    """Until it is cancelled. Whoever has begun a process waits for it at once: what is dead twice is an orphan."""
    before: frozenset[int] = frozenset()
    while True:
        dead = dead_children()
        _forget(dead & before)
        before = dead
        await asyncio.sleep(_EVERY)


def _forget(processes: frozenset[int]) -> None:
    for process in processes:
        with suppress(ChildProcessError):
            os.waitpid(process, os.WNOHANG)


def dead_children() -> frozenset[int]:
    return frozenset(child for child in _children() if _state(child) == "Z")


def _children() -> frozenset[int]:
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        # Threads end while they are looked at.
        with suppress(OSError):
            found.update(map(int, (task / "children").read_text().split()))
    return frozenset(found)


def _state(process: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""
