"""Tells what happened to jobs, and what happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from paddleflow.problems import ShuttingDown
from pf_job.jobs.domain import Happening
from pf_job.jobs.service import Jobs
from pf_job.jobs.states import FINAL
from pf_job.jobs.store import JobStore
from pf_kit.clock import Clock
from pf_kit.principal import Principal
from pf_kit.unit import Database

PAGE = 200
"""Happenings in one message."""
LOOK = 2.0
"""Seconds after which it is looked in any case: not all that happens to replicas is told as a change of their job."""
SPACING = 0.1
"""Seconds between two looks at least."""
PATIENCE = 0.5
"""Seconds in which it is noticed that the server stops."""


class Following:
    """What is told to those who follow jobs."""

    def __init__(
        self,
        *,
        database: Database,
        store: JobStore,
        jobs: Jobs,
        recheck: Callable[[Principal], Awaitable[None]],
        clock: Clock,
        closing: asyncio.Event,
    ) -> None:
        """`recheck` raises if the token of a caller is not good any more. Once it is `closing`, all streams end."""
        self._database = database
        self._store = store
        self._jobs = jobs
        self._recheck = recheck
        self._clock = clock
        self._closing = closing

    async def happenings(
        self, caller: Principal, id_: str, after: int, *, follow: bool
    ) -> AsyncIterator[Sequence[Happening]]:
        """What happened after the happening of a number; with `follow` until the job is over.

        Raises what WatchHappenings' contract lists.
        """
        # Whatever is committed from now on is heard of.
        await self._database.log.commits(0.0)
        while True:
            await self._recheck(caller)
            job = await self._jobs.get(self._database.newest, caller, id_)
            found = await self._store.happenings(self._database.newest, id_, after, PAGE)
            if found:
                after = found[-1].number
                yield found
            if len(found) == PAGE:
                continue
            if not follow or job.life.state in FINAL:
                return
            await self._news()

    async def _news(self) -> None:
        """Waits until something may have happened. Raises ShuttingDown."""
        await asyncio.sleep(SPACING)
        due, rung = self._clock.monotonic() + LOOK, False
        while not rung and self._clock.monotonic() < due:
            rung = await self._database.log.commits(PATIENCE)
            if self._closing.is_set():
                raise ShuttingDown
