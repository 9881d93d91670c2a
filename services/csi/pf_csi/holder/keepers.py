"""Who keeps the mount of a key, and whether somebody serves it: seen from outside, without looking into the mount."""

from __future__ import annotations

import os
import select
import socket
from dataclasses import dataclass
from pathlib import Path

from paddleflow.mounted import NotMounted, SlowToAnswer, Unanswered, ask_whoever_serves
from paddleflow.mountinfo import read_mounts
from paddleflow.sockets import address, peer_of
from pf_csi.holder.places import KeyFolder
from pf_csi.kernel import libc
from pf_csi.kernel.libc import Unmounting

HOLDER = "holder"
"""The socket of the process that keeps a mount."""
_ANSWERS_WITHIN = 5.0


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
    """The process that keeps a mount, as its socket tells."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
        probe.settimeout(_ANSWERS_WITHIN)
        try:
            with address(folder.served / HOLDER) as short:
                probe.connect(short)
            process = peer_of(probe).process
            return Keeper(process, os.pidfd_open(process))
        except (OSError, TimeoutError):
            return None


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
