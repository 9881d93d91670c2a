"""Clients that the holder starts itself, and starts again when they die."""

from __future__ import annotations

import logging
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

log = logging.getLogger(__name__)

SOCKET_VARIABLE = "PF_FUSE_HOLDER"
"""In the environment of a client: the path of the holder's socket."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0


@dataclass(frozen=True, slots=True)
class Deaths:
    """How often in a row a client died young."""

    count: int = 0

    def another(self, young: bool) -> Deaths:
        return Deaths(self.count + 1 if young else 1)

    @property
    def pause(self) -> float:
        """Seconds until the next one is started; the first death costs none."""
        return 0.0 if self.count <= 1 else min(FIRST_PAUSE * 2.0 ** (self.count - 2), LONGEST_PAUSE)


class Child:
    """One client at a time."""

    def __init__(self, command: Sequence[str], socket_path: str, settled: float, told: bytes = b"") -> None:
        self._command = command
        self._told = told
        """What each gets on its standard input, as it may have secrets."""
        self._settled = settled
        self._socket_path = socket_path
        self._process: subprocess.Popen[bytes] | None = None
        self._begun = 0.0
        self._deaths = Deaths()
        self.due: float | None = 0.0 if command else None
        """When one is to be started, by `time.monotonic`; None if that is not to be."""

    def needed(self) -> None:
        """One that was not started here is gone."""
        if self._command and self._process is None and self.due is None:
            self.due = time.monotonic()

    def start(self) -> int | None:
        """A descriptor that says when it is dead; None if it could not be started."""
        self.due = None
        self._begun = time.monotonic()
        environment = os.environ | {SOCKET_VARIABLE: self._socket_path}
        try:
            with _in_memory(self._told) as told:
                self._process = subprocess.Popen(self._command, env=environment, stdin=told)
        except OSError as failure:
            log.warning("the client cannot be started: %s", failure)
            self._dead()
            return None
        return os.pidfd_open(self._process.pid)

    def reap(self) -> None:
        if self._process is not None:
            status = self._process.wait()
            self._process = None
            log.warning("the client ended with status %d after %.1f s", status, time.monotonic() - self._begun)
            self._dead()

    def stop(self, patience: float) -> None:
        """It is not started again; who does not end by itself is asked to, and then killed."""
        self.due = None
        if self._process is None:
            return
        for insist in (self._process.terminate, self._process.kill):
            try:
                self._process.wait(patience)
            except subprocess.TimeoutExpired:
                insist()
        self._process.wait()
        self._process = None

    def _dead(self) -> None:
        now = time.monotonic()
        self._deaths = self._deaths.another(now - self._begun < self._settled)
        self.due = now + self._deaths.pause


@contextmanager
def _in_memory(data: bytes) -> Iterator[int]:
    """A file with the data that has no name; whoever reads it slowly keeps nobody waiting."""
    descriptor = os.memfd_create("told")
    try:
        os.write(descriptor, data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)
