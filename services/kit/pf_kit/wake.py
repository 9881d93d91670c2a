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
    """Rung at every commit; each follower, an asyncio task, hears whether it rang since it last looked or waited."""

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
        self._heard[this_task()] = self._rings

    async def wait(self, patience: float = POLL) -> None:
        """Returns once it rang since the running task last looked or waited, or when the time is over."""
        if self._heard.get(this_task(), self._rings) == self._rings:
            await self._sleep(patience)
        else:
            await asyncio.sleep(SPACING)
        self.looked()

    async def _sleep(self, patience: float) -> None:
        sleeper = asyncio.get_running_loop().create_future()
        self._sleepers.add(sleeper)
        try:
            async with asyncio.timeout(patience):
                await sleeper
        except TimeoutError:
            return
        finally:
            self._sleepers.discard(sleeper)


def this_task() -> asyncio.Task[Any]:
    """Whoever follows the log."""
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("the log is followed by asyncio tasks only")
    return task
