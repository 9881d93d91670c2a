"""Where the scenes are played: it looks at the service all the time, and shows what it sees."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from paddleflow.aio import AsyncPaddleFlow
from teams.bars import Look
from teams.screen import Screen
from teams.service import JobService
from teams.setting import TEAMS, TOP, Job

_EVERY = 0.05
"""Seconds between two looks."""
_PATIENCE = 15.0
"""Seconds to wait for what should be seen; it takes a few at most."""


class Stage:
    """One service, one screen, and the time since it began."""

    def __init__(self, client: AsyncPaddleFlow, service: JobService, screen: Screen) -> None:
        self._client = client
        self._begun = time.monotonic()
        self.service = service
        self.screen = screen
        self.looks: list[Look] = []

    @property
    def now(self) -> float:
        return time.monotonic() - self._begun

    @property
    def last(self) -> Look:
        return self.looks[-1]

    async def submit(self, jobs: Sequence[Job], seen: Callable[[Look], bool]) -> float | None:
        """Submits jobs, and looks meanwhile; says after how many seconds something was seen, None if it was not."""
        begun = self.now
        async with asyncio.TaskGroup() as group:
            group.create_task(self.service.submit(jobs))
            then = await self.until(seen)
        return None if then is None else then - begun

    async def until(self, seen: Callable[[Look], bool]) -> float | None:
        """Looks until something is seen, and says when that was; None if it was not for too long."""
        give_up = self.now + _PATIENCE
        while self.now < give_up:
            look = await self._look()
            if seen(look):
                return look.time
            await asyncio.sleep(_EVERY)
        return None

    async def during(self, seconds: float) -> list[Look]:
        """Looks for so long."""
        first, end = len(self.looks), self.now + seconds
        await self.until(lambda look: look.time >= end)
        return self.looks[first:]

    def tell(self, remark: str) -> None:
        self.screen.tell(self.last, remark)

    async def _look(self) -> Look:
        loads = {load.queue: load async for load in self._client.workloads.loads(queue=TOP)}
        look = Look(self.now, loads, {team.name: self.service.ledger.admitted[team.name] for team in TEAMS})
        self.looks.append(look)
        self.screen.show(look)
        return look
