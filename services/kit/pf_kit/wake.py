"""Wakes those who follow the event log as soon as their own process has committed something."""

from __future__ import annotations

import asyncio
from typing import Any
from weakref import WeakKeyDictionary

POLL = 1.0
"""Seconds after which a follower looks even if nobody rang: other processes commit too."""
SPACING = 0.002
"""Seconds between two looks of one follower while commits pour in: it reads many at once instead of each alone."""


class Bell:
    """Rung at every commit; each follower, which is an asyncio task, hears whether it rang since it last looked."""

    def __init__(self) -> None:
        self._rings = 0
        self._heard: WeakKeyDictionary[asyncio.Task[Any], int] = WeakKeyDictionary()
        self._sleepers: set[asyncio.Future[None]] = set()

    def ring(self) -> None:
        """Wakes all followers."""
        self._rings += 1
        for sleeper in self._sleepers:
            if not sleeper.done():
                sleeper.set_result(None)

    def looked(self) -> None:
        """Notes that the running task is about to look: what rang before needs not wake it."""
        self._heard[_this_task()] = self._rings

    async def wait(self, patience: float = POLL) -> None:
        """Returns once it rang since the running task last looked, or when the time is over."""
        if self._heard.get(_this_task()) != self._rings:
            await asyncio.sleep(SPACING)
            return
        sleeper = asyncio.get_running_loop().create_future()
        self._sleepers.add(sleeper)
        try:
            async with asyncio.timeout(patience):
                await sleeper
        except TimeoutError:
            return
        finally:
            self._sleepers.discard(sleeper)


def _this_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("the log is followed by asyncio tasks only")
    return task
