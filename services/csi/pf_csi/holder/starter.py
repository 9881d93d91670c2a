"""Begins the processes of mounts by one that stands by, with all loaded that they need: `pf-fuse start-mounts`."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from threading import Lock

from paddleflow.mounting import program
from pf_csi.holder.keepers import kill

_ORDER = b"m"


class Starter:
    """For any thread. If the process is gone there is another one as soon as a mount is begun."""

    def __init__(self, environ: Mapping[str, str], patience: float) -> None:
        """`patience`: seconds for one mount; all may have to be loaded first, on a machine that is busy."""
        self._environ = environ
        self._patience = patience
        self._guard = Lock()
        self._line: socket.socket | None = None
        self.process = 0

    def stand_by(self) -> None:
        """CannotMount if there is no such program."""
        with self._guard:
            if self._line is None:
                self._line = self._new_line()

    def begin(self, streams: Sequence[int]) -> None:
        """A process has these as its standard streams. OSError if that is not sure."""
        with self._guard:
            if not self._done(self._asked(streams)):
                self._close()
                raise OSError(
                    errno.ETIMEDOUT, "the process that begins mounts has not done so, and is replaced; try again"
                )

    def close(self) -> None:
        """It ends, and the mounts go on. One that is being begun fails, so that nobody waits for it."""
        if (line := self._line) is not None:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
        with self._guard:
            self._close()

    def _asked(self, streams: Sequence[int]) -> socket.socket:
        """By whoever stands by, or another if he is gone."""
        if self._line is not None:
            try:
                socket.send_fds(self._line, [_ORDER], streams)
            except OSError:
                self._close()
            else:
                return self._line
        self._line = self._new_line()
        socket.send_fds(self._line, [_ORDER], streams)
        return self._line

    def _done(self, line: socket.socket) -> bool:
        """False if nobody knows. What is stopped would do it later, when there may be another mount."""
        try:
            return bool(line.recv(len(_ORDER)))
        except TimeoutError:
            kill([self.process])
        except ConnectionError:
            return False
        return False

    def _new_line(self) -> socket.socket:
        path = program()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(self._patience)
        with theirs:
            actions = [(os.POSIX_SPAWN_DUP2, theirs.fileno(), 0)]
            try:
                self.process = os.posix_spawn(
                    path, [path, "start-mounts"], self._environ, file_actions=actions, setsid=True
                )
            except OSError:
                ours.close()
                raise
        return ours

    def _close(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None
