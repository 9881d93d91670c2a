"""Who keeps the mount of a key, and whether somebody serves it: seen from outside, without looking into the mount."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import signal
import socket
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from paddleflow.mounted import NotMounted, SlowToAnswer, Unanswered, ask_whoever_serves
from paddleflow.mountinfo import read_mounts
from paddleflow.mounting import LOG
from paddleflow.sockets import address, peer_of
from pf_csi.holder.places import KeyFolder
from pf_csi.kernel import libc
from pf_csi.kernel.libc import Unmounting

HOLDER = "holder"
"""The socket of the process that keeps a mount."""
_SERVING = "serving"
"""The file that whoever serves a mount has locked as long as it lives."""
_ANSWERS_WITHIN = 5.0
_DEAD_WITHIN = 10.0


@dataclass(frozen=True, slots=True)
class Keeper:
    """The process that keeps a mount."""

    process: int
    ended: int

    def is_gone(self) -> bool:
        return bool(select.select([self.ended], [], [], 0)[0])

    def close(self) -> None:
        os.close(self.ended)


def keeper_of(folder: KeyFolder) -> Keeper | None:
    """The process that keeps a mount, as its socket tells; if that is stuck, as its log does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
        probe.settimeout(_ANSWERS_WITHIN)
        try:
            with address(folder.served / HOLDER) as short:
                probe.connect(short)
            return _keeper(peer_of(probe).process)
        except (TimeoutError, BlockingIOError):
            # As many wait for it as may.
            return _keeper(*_eldest(folder))
        except OSError:
            return None


def _keeper(*processes: int) -> Keeper | None:
    """The first of them that lives."""
    for process in processes:
        with suppress(ProcessLookupError):
            return Keeper(process, os.pidfd_open(process))
    return None


def _eldest(folder: KeyFolder) -> list[int]:
    """Whoever keeps a mount has begun whoever serves it."""
    living = processes_of(folder)
    return [process for process in living if _parent(process) not in living]


def _parent(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def processes_of(folder: KeyFolder) -> list[int]:
    """All that live who keep or begin the mount, and serve it here: their complaints go to its log."""
    found, log = [], str(folder.state / LOG)
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdigit() and str((process / "fd" / "2").readlink()) == log:
                found.append(int(process.name))
    return found


def is_taken(folder: KeyFolder) -> bool:
    """Somebody lives who serves with this folder, answering or not: the kernel knows."""
    try:
        descriptor = os.open(folder.served / _SERVING, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def kill(processes: Iterable[int]) -> None:
    """Returns when they are dead. OSError if one cannot die."""
    dying = list[int]()
    for process in processes:
        with suppress(ProcessLookupError):
            dying.append(os.pidfd_open(process))
            signal.pidfd_send_signal(dying[-1], signal.SIGKILL)
    try:
        if not all(select.select([each], [], [], _DEAD_WITHIN)[0] for each in dying):
            raise OSError(errno.ETIMEDOUT, "a client that was killed does not die: its storage or its disk hangs")
    finally:
        for each in dying:
            os.close(each)


def is_served(folder: KeyFolder) -> bool:
    """A client that has lost its keeper goes on, and hands its mount to the next one."""
    return read_mounts().top(str(folder.at)) is not None and answers(folder)


def answers(folder: KeyFolder) -> bool:
    try:
        ask_whoever_serves(folder.served, folder.at, "stats", patience=_ANSWERS_WITHIN)
    except (NotMounted, SlowToAnswer, Unanswered, OSError):
        return False
    return True


def hangs(folder: KeyFolder) -> bool:
    """Somebody is there, and says nothing."""
    try:
        ask_whoever_serves(folder.served, folder.at, "stats", patience=_ANSWERS_WITHIN)
    except SlowToAnswer:
        return True
    except (NotMounted, Unanswered, OSError):
        # It has ended, or is followed by another just now.
        return False
    return False


def take_off(place: Path) -> None:
    """All layers, at once; what is open there is served as long as somebody does."""
    for mount in read_mounts().layers(str(place)):
        if mount.ours:
            libc.unmount(str(place), Unmounting.NO_FOLLOW | Unmounting.DETACH)
