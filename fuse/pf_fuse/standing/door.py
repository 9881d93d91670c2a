"""The client's end of the door at which whoever keeps mounts on a machine is found: lines of JSON each way.

The client says who it is, what it serves, and whether it has to go. It is told what to serve, or to end.
"""

from __future__ import annotations

import json
import socket
from dataclasses import asdict, dataclass
from pathlib import Path

SOCKET = "door"
_MOST = 1 << 16


@dataclass(frozen=True, slots=True)
class Standing:
    """How it is with this client."""

    name: str
    key: str = ""
    """Of the mount that it serves; empty: of none."""
    leaving: bool = False
    """It has been told to go, and another one should follow it."""


@dataclass(frozen=True, slots=True)
class Serve:
    """It is to serve the mount of this key."""

    key: str


@dataclass(frozen=True, slots=True)
class End:
    """It is to end at once: it does not answer."""


Order = Serve | End


class Door:
    """One connection, until the other end is gone."""

    def __init__(self, folder: Path) -> None:
        """OSError if nobody is there."""
        self._peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._said = b""
        try:
            self._peer.connect(str(folder / SOCKET))
        except OSError:
            self._peer.close()
            raise

    def fileno(self) -> int:
        return self._peer.fileno()

    def close(self) -> None:
        self._peer.close()

    def say(self, standing: Standing) -> None:
        """OSError if nobody is there any more."""
        self._peer.sendall(json.dumps(asdict(standing)).encode() + b"\n")

    def orders(self) -> list[Order] | None:
        """What was said since; None if nobody is there any more."""
        try:
            piece = self._peer.recv(_MOST)
        except OSError:
            return None
        if not piece:
            return None
        *lines, self._said = (self._said + piece).split(b"\n")
        return [order for line in lines if (order := understood(line)) is not None]


def understood(line: bytes) -> Order | None:
    """None if it is of another version, and not known here."""
    try:
        told = json.loads(line)
    except ValueError:
        return None
    match told:
        case {"serve": str(key)}:
            return Serve(key)
        case {"end": True}:
            return End()
    return None
