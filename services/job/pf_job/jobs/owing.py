"""Wakes whoever looks after jobs at some stages as soon as something may be owed to one there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from weakref import WeakKeyDictionary

from pf_job.jobs.states import Stage


class Owing:
    """Stages at which something may be owed, for those who follow them."""

    def __init__(self) -> None:
        self._bells: WeakKeyDictionary[asyncio.Event, frozenset[Stage]] = WeakKeyDictionary()

    def note(self, stages: Collection[Stage]) -> None:
        """Wakes those who follow one of these."""
        for bell, followed in self._bells.items():
            if not followed.isdisjoint(stages):
                bell.set()

    def follow(self, *stages: Stage) -> Callable[[], Awaitable[None]]:
        """What waits, each time, until something may have come to these stages since it waited last."""
        bell = asyncio.Event()
        self._bells[bell] = frozenset(stages)

        async def rung() -> None:
            await bell.wait()
            bell.clear()

        return rung
