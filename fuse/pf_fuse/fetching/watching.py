"""Telling those who have waited too long that there is no answer."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from pf_backends.errors import unreachable
from pf_fuse.fetching.fetches import Wait
from pf_fuse.threads import started_if_room

EVERY = 1.0
"""Seconds between two looks, as long as somebody waits."""


class Watch:
    """Those who wait, in the order in which their time is over."""

    def __init__(self, lock: threading.Lock, clock: Callable[[], float]) -> None:
        self._changed = threading.Condition(lock)
        self._clock = clock
        self._waits: deque[Wait] = deque()
        self._thread: threading.Thread | None = None
        self._ended = False

    def after(self, seconds: float) -> float:
        """When the time of somebody who begins to wait now is over."""
        return self._clock() + seconds

    def add(self, wait: Wait) -> None:
        """The caller holds the lock."""
        self._waits.append(wait)
        if self._thread is None:
            # Whoever brings the bytes gives them all the same; the next one who waits tries again.
            self._thread = started_if_room("pf-fetch-watch", self._run)
        elif len(self._waits) == 1:
            self._changed.notify()

    def end(self) -> list[Wait]:
        """Who still waits. The caller holds the lock."""
        self._ended = True
        self._changed.notify()
        left = list(self._waits)
        self._waits.clear()
        return left

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._ended:
                    return
                self._changed.wait(EVERY if self._waits else None)
                late = self._late(self._clock())
            for wait in late:
                wait.failed(unreachable(wait.path, "the backend has not answered in time; try again later"))

    def _late(self, now: float) -> list[Wait]:
        """Those whose time is over; nobody keeps those who have their answers."""
        late = [wait for wait in self._waits if wait.until <= now]
        self._waits = deque(wait for wait in self._waits if wait.until > now and not wait.over)
        return late
