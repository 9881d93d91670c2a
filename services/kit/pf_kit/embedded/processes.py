"""Processes told apart from others that got the same number later."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pf_kit.embedded.refusal import Refusal

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Identity:
    """One process for all times: numbers are given out again, also across reboots."""

    pid: int
    started: int
    """When it was started, in clock ticks since the machine was."""
    boot: str
    """Names the machine's present life."""

    @property
    def age(self) -> float:
        """Seconds since it was started."""
        return time.clock_gettime(time.CLOCK_BOOTTIME) - self.started / os.sysconf("SC_CLK_TCK")


def identify(pid: int) -> Identity | None:
    """The process that has this number now; None if there is none, or only the remains of one."""
    try:
        stat = (PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The program's name stands in brackets and may itself hold brackets and spaces.
    fields = stat.rpartition(")")[2].split()
    if fields[0] in "ZX":
        return None
    return Identity(pid, int(fields[19]), boot_id())


def boot_id() -> str:
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def is_alive(identity: Identity) -> bool:
    return identify(identity.pid) == identity


async def end(identity: Identity, signals: Sequence[tuple[signal.Signals, float]]) -> bool:
    """Sends one signal after the other, each with the seconds it is given, until the process is gone.

    False if it outlived them all.
    """
    try:
        handle = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return True
    try:
        # Asked after opening: from here on the handle means this very process, whatever becomes of its number.
        if not is_alive(identity):
            return True
        for number, seconds in signals:
            signal.pidfd_send_signal(handle, number)
            if await _gone(handle, seconds):
                return True
        return False
    except ProcessLookupError:
        return True
    finally:
        os.close(handle)


async def _gone(handle: int, seconds: float) -> bool:
    deadline = asyncio.get_running_loop().time() + seconds
    while not select.select([handle], [], [], 0)[0]:
        if asyncio.get_running_loop().time() > deadline:
            return False
        await asyncio.sleep(0.02)
    return True


def occupants(folder: Path, programs: Collection[str]) -> Iterator[Identity]:
    """The processes of these programs whose current folder this is.

    A database server and all its helpers stay in the folder of their data. It is told by its identity, not by its path:
    in a container the same path is another folder, and a folder can be mounted at two paths.
    """
    where = _place(folder)
    if where is None:
        return
    for entry in PROC.iterdir():
        if entry.name.isdecimal() and _program(entry) in programs and _place(entry / "cwd") == where:
            found = identify(int(entry.name))
            if found is not None:
                yield found


async def vacate(folder: Path, programs: Collection[str], signals: Sequence[tuple[signal.Signals, float]]) -> None:
    """Ends these programs' processes in a folder, so that there are never two servers on the same data.

    Raises Refusal if one stays.
    """
    # The first to be started is the parent of the others, which end with it.
    for occupant in sorted(occupants(folder, programs), key=lambda occupant: occupant.started):
        await end(occupant, signals)
    for occupant in occupants(folder, programs):
        raise Refusal(f"process {occupant.pid} uses {folder} and does not end", f"kill -9 {occupant.pid}")


def _place(folder: Path) -> tuple[int, int] | None:
    """What tells a folder from all others; None if there is none, or if it is not ours to know."""
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _program(entry: Path) -> str:
    """The name of a process's program; empty if it is not ours to know."""
    try:
        program = os.readlink(entry / "exe")  # noqa: PTH115 - a path would not be the kernel's text
    except OSError:
        return ""
    return Path(program.removesuffix(" (deleted)")).name
