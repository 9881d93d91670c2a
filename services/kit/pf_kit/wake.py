"""Wakes those who follow the event log as soon as there may be something new in it."""

from __future__ import annotations

import asyncio
from typing import Any
from weakref import WeakKeyDictionary

PATIENCE = 30.0
"""Seconds that a follower waits if it does not say how long."""
SPACING = 0.002
"""Seconds between two looks of one follower while commits pour in: it reads many at once instead of each alone."""


class Bell:
    """Rung at commits; each follower, an asyncio task, hears whether it rang since it last looked or waited."""

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

    async def wait(self, patience: float = PATIENCE) -> bool:
        """Returns once it rang since the running task last looked or waited; False if the time is over before."""
        rung = self._heard.get(this_task(), self._rings) != self._rings
        if rung:
            await asyncio.sleep(SPACING)
        else:
            rung = await self._sleep(patience)
        self.looked()
        return rung

    async def _sleep(self, patience: float) -> bool:
        sleeper = asyncio.get_running_loop().create_future()
        self._sleepers.add(sleeper)
        try:
            async with asyncio.timeout(patience):
                await sleeper
                return True
        except TimeoutError:
            return False
        finally:
            self._sleepers.discard(sleeper)


def until_tick(now: float, period: float) -> float:
    """Seconds until the next multiple of a period. What is done then wakes its process once for all, which costs an
    idle machine less than if each had times of its own.
    """
    return period - now % period


def this_task() -> asyncio.Task[Any]:
    """Whoever follows the log."""
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("the log is followed by asyncio tasks only")
    return task
