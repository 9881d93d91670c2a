"""Unix sockets of this machine: who may come, and how a path longer than the kernel allows is named."""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_PEER = struct.Struct("iII")
"""Process, user and group of the other end."""
WAITING = 128


@dataclass(frozen=True, slots=True)
class Peer:
    """Whoever is at the other end of a socket, as the kernel says."""

    process: int
    user: int


def peer_of(connection: socket.socket) -> Peer:
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    process, user, _ = _PEER.unpack(told)
    return Peer(process, user)


def may_come(peer: Peer, others: Collection[int] = ()) -> bool:
    """Root, oneself, and those named."""
    return peer.user in {0, os.geteuid(), *others}


def listening(path: Path) -> socket.socket:
    """A socket that only its user and root can open. OSError if another process listens there."""
    path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_if_dead(path)
        before = os.umask(0o177)
        try:
            with address(path) as short:
                listener.bind(short)
        finally:
            os.umask(before)
        listener.listen(WAITING)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener


def _remove_if_dead(path: Path) -> None:
    """A process that was killed leaves its socket. One that lives keeps it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            with address(path) as short:
                probe.connect(short)
        except ConnectionRefusedError:
            path.unlink()
            return
        except FileNotFoundError:
            return
    raise OSError(errno.EADDRINUSE, "another process listens here already; end it first", str(path))


def remove(path: Path) -> None:
    """Nobody listens there any more."""
    path.unlink(missing_ok=True)


@contextmanager
def address(path: Path) -> Iterator[str]:
    """Of a socket, however long its path is: the kernel takes no more than 107 bytes."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
