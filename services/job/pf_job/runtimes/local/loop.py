"""One thread that waits for handles and for points in time, and does nothing in between."""

from __future__ import annotations

import heapq
import select
import time
from collections.abc import Callable
from itertools import count

READ = select.EPOLLIN
WRITE = select.EPOLLOUT

Handler = Callable[[int], None]
"""Takes what the handle is ready for."""


def now() -> float:
    """Seconds since the machine was started, also while it slept."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Loop:
    """Calls whoever waits."""

    def __init__(self, before_waiting: Callable[[], None]) -> None:
        self._epoll = select.epoll()
        self._handlers: dict[int, Handler] = {}
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()
        self._before_waiting = before_waiting
        self._is_over = False

    def watch(self, handle: int, handler: Handler, events: int = READ) -> None:
        self._handlers[handle] = handler
        self._epoll.register(handle, events)

    def change(self, handle: int, events: int) -> None:
        self._epoll.modify(handle, events)

    def unwatch(self, handle: int) -> None:
        del self._handlers[handle]
        self._epoll.unregister(handle)

    def call_at(self, moment: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._agenda, (moment, next(self._numbers), action))

    def end(self) -> None:
        self._is_over = True

    def run(self) -> None:
        while not self._is_over:
            self._before_waiting()
            for handle, events in self._epoll.poll(self._patience()):
                handler = self._handlers.get(handle)
                # Whoever was called before may have closed it.
                if handler is not None:
                    handler(events)
            self._keep_appointments()

    def _patience(self) -> float | None:
        return max(0.0, self._agenda[0][0] - now()) if self._agenda else None

    def _keep_appointments(self) -> None:
        moment = now()
        while self._agenda and self._agenda[0][0] <= moment:
            heapq.heappop(self._agenda)[2]()
