"""What a holder has open beside the device and its clients."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path

from paddleflow.sockets import address

WAITING = 4
"""Clients that may come while one serves."""
NONE = -1
"""No descriptor."""


def listen(path: str, user: int | None) -> socket.socket:
    """A socket for root, oneself and this user."""
    Path(path).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    before = os.umask(0o177)
    try:
        with address(Path(path)) as short:
            listener.bind(short)
    finally:
        os.umask(before)
    if user is not None:
        # The folder may be this user's, who might have put something else there.
        os.chown(path, user, -1, follow_symlinks=False)
    listener.listen(WAITING)
    return listener


class Spare:
    """A descriptor that can be done without, for whoever comes when no more files can be open."""

    def __init__(self) -> None:
        self._descriptor = _anything()

    def turn_away(self, listener: socket.socket) -> bool:
        """Who waits and cannot come in is let go, and tries again. False if not even that can be done."""
        self.close()
        listener.setblocking(False)
        try:
            listener.accept()[0].close()
        except BlockingIOError:
            # He has gone by himself.
            pass
        except OSError:
            return False
        finally:
            listener.setblocking(True)
            # Where the whole machine has no more, another process may have got this one.
            with suppress(OSError):
                self._descriptor = _anything()
        return True

    def close(self) -> None:
        self._descriptor = closed(self._descriptor)


def closed(descriptor: int) -> int:
    """Closes it once, as its number may be another one's later."""
    if descriptor != NONE:
        os.close(descriptor)
    return NONE


def _anything() -> int:
    return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
