"""Threads for what blocks, a few for each key: storage that does not answer holds up nobody but who uses it."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Thread
from typing import TypeVar

T = TypeVar("T")

MOST = 4
"""Of one key: one that begins or ends its mount, and who looks meanwhile."""


@dataclass
class _Lane:
    places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST))
    users: int = 0


class Lanes:
    """For the thread of one event loop."""

    def __init__(self) -> None:
        self._lanes: dict[str, _Lane] = {}

    async def run(self, key: str, work: Callable[[], T]) -> T:
        """What the work gives; OSError also where it cannot be begun. Who stops waiting does not stop it."""
        lane = self._lanes.setdefault(key, _Lane())
        lane.users += 1
        try:
            await lane.places.acquire()
        except asyncio.CancelledError:
            self._leave(key, lane)
            raise
        try:
            doing = asyncio.wrap_future(apart(work))
        except OSError:
            lane.places.release()
            self._leave(key, lane)
            raise
        doing.add_done_callback(lambda done: self._over(key, lane, done))
        return await asyncio.shield(doing)

    def _over(self, key: str, lane: _Lane, done: asyncio.Future[T]) -> None:
        lane.places.release()
        self._leave(key, lane)
        if not done.cancelled():
            # Nobody may be left to hear of it.
            done.exception()

    def _leave(self, key: str, lane: _Lane) -> None:
        lane.users -= 1
        if not lane.users:
            del self._lanes[key]


def apart(work: Callable[[], T]) -> Future[T]:
    """By a thread that nobody waits for when the process ends. OSError (EAGAIN) where none can be started."""
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()

    def run() -> None:
        try:
            found = work()
        except BaseException as error:  # noqa: BLE001  # whoever asks for the result raises it
            done.set_exception(error)
        else:
            done.set_result(found)

    try:
        Thread(target=run, name="apart", daemon=True).start()
    except RuntimeError as full:
        raise OSError(errno.EAGAIN, "no thread can be started on this node; too many tasks are under way") from full
    return done
