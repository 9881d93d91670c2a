"""Tells what happened in runs, and what happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from paddleflow.problems import ShuttingDown
from pf_kit.clock import Clock
from pf_kit.principal import Principal
from pf_kit.unit import Database
from pf_pipeline.runs.domain import Happening
from pf_pipeline.runs.service import Runs
from pf_pipeline.runs.states import RUN_OVER

PAGE = 500
"""Happenings in one message."""
LOOK = 1.0
"""Seconds after which it is looked in any case: not all that happens in a run is told as a change of it."""
SPACING = 0.05
"""Seconds between two looks at least."""
PATIENCE = 0.5
"""Seconds in which it is noticed that the server stops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """What is told to those who follow runs."""

    database: Database
    runs: Runs
    recheck: Callable[[Principal], Awaitable[None]]
    """Raises if the token of a caller is not good any more."""
    clock: Clock
    closing: asyncio.Event
    """Once it is set, all streams end."""

    async def happenings(
        self, caller: Principal, id_: str, after: int, *, follow: bool
    ) -> AsyncIterator[Sequence[Happening]]:
        """What happened after the happening of a number; with `follow` until the run is over.

        Raises what WatchHappenings' contract lists.
        """
        # Whatever is committed from now on is heard of.
        await self.database.log.commits(0.0)
        while True:
            await self.recheck(caller)
            run = await self.runs.get(self.database.newest, caller, id_)
            found = await self.runs.happenings(self.database.newest, caller, id_, after, PAGE)
            if found:
                after = found[-1].number
                yield found
            if len(found) == PAGE:
                continue
            if not follow or run.life.state in RUN_OVER:
                return
            await self._news()

    async def _news(self) -> None:
        """Waits until something may have happened. Raises ShuttingDown."""
        await asyncio.sleep(SPACING)
        due, rung = self.clock.monotonic() + LOOK, False
        while not rung and self.clock.monotonic() < due:
            rung = await self.database.log.commits(PATIENCE)
            if self.closing.is_set():
                raise ShuttingDown
