"""Clients that the holder starts itself, and starts again when they die."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

log = logging.getLogger(__name__)

Begin = Callable[[], int]
"""Starts a client; its process. OSError if it cannot be started."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
_LOOK = 0.01
"""Seconds between two looks whether it has ended."""


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

    def __init__(self, begin: Begin | None, settled: float) -> None:
        self._begin = begin
        """None: clients come by themselves."""
        self._settled = settled
        self._process = 0
        self._begun = 0.0
        self._deaths = Deaths()
        self.due: float | None = 0.0 if begin else None
        """When one is to be started, by `time.monotonic`; None if that is not to be."""

    @property
    def process(self) -> int:
        """Who serves; 0 if nobody does."""
        return self._process

    def needed(self) -> None:
        """One that was not started here is gone."""
        if self._begin and not self._process and self.due is None:
            self.due = time.monotonic()

    def start(self) -> None:
        self.due = None
        self._begun = time.monotonic()
        if self._begin is None:
            return
        try:
            self._process = self._begin()
        except OSError as failure:
            log.warning("the client cannot be started: %s", failure)
            self._dead()

    def reap(self) -> int | None:
        """How it ended; None if it has not, or there was none."""
        status = self._ended()
        if status is not None:
            log.warning("the client ended with status %d after %.1f s", status, time.monotonic() - self._begun)
            self._dead()
        return status

    def stop(self, patience: float) -> None:
        """It is not started again; who does not end by itself is asked to, and then killed."""
        self.due = None
        for insist in (signal.SIGTERM, signal.SIGKILL):
            if self._process and not self._ends(patience):
                os.kill(self._process, insist)
        while self._process:
            self._ends(patience)

    def _ends(self, patience: float) -> bool:
        deadline = time.monotonic() + patience
        while self._process and self._ended() is None:
            if time.monotonic() > deadline:
                return False
            time.sleep(_LOOK)
        return True

    def _ended(self) -> int | None:
        """With which status; None if it is alive, or there is none."""
        found, status = os.waitpid(self._process, os.WNOHANG) if self._process else (0, 0)
        if not found:
            return None
        self._process = 0
        return os.waitstatus_to_exitcode(status)

    def _dead(self) -> None:
        now = time.monotonic()
        self._deaths = self._deaths.another(now - self._begun < self._settled)
        self.due = now + self._deaths.pause
