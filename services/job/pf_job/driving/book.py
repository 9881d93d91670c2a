"""The jobs of the service, for the one instance that drives them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

from paddleflow.problems import Problem
from pf_job.driving.told import Told
from pf_job.jobs.domain import Job, Owner, Task, TaskKey, TaskState
from pf_job.jobs.life import Event
from pf_job.jobs.owing import Owing
from pf_job.jobs.service import forget
from pf_job.jobs.states import Kind, Stage
from pf_job.jobs.store import OWED, JobStore, job_lock
from pf_job.jobs.telling import News, tell
from pf_kit.clock import Clock
from pf_kit.departures import departure_entry
from pf_kit.leases import Lease
from pf_kit.unit import Change, Database
from pf_kit.wake import until_tick

BATCH = 200
"""Jobs that are taken a step further at once: so many share a commit."""
SERVICE = "job"
PAUSE = 1.0
"""Seconds between two looks for jobs that were left for later."""


SPACING = 0.01
"""Seconds until it is looked for what a commit owes to jobs: what this instance tells and creates itself is looked
after by then.
"""


class Book:
    """Reads jobs, and lets events happen to them as long as this instance leads."""

    def __init__(
        self,
        *,
        database: Database,
        store: JobStore,
        clock: Clock,
        lease: Lease | None,
        owing: Owing,
    ) -> None:
        """Changes fail with Aborted if another instance than that of the lease leads by now. What jobs are owed by what
        happens to them here is noted in `owing`.
        """
        self._database = database
        self._store = store
        self._clock = clock
        self._lease = lease
        self.owing = owing
        self.told = Told()

    async def owed(self, *stages: Stage, without: Collection[str] = ()) -> Sequence[Job]:
        """Jobs at these stages that need not wait any longer, but for some."""
        return await self._store.at(self._database.newest, stages, self._clock.now(), BATCH, without)

    async def at(self, stages: Sequence[Stage]) -> AsyncIterator[Sequence[Job]]:
        """All jobs at these stages, many at a time."""
        last = ""
        while jobs := await self._store.unfinished(self._database.newest, stages, last, BATCH):
            yield jobs
            last = jobs[-1].id

    async def overdue(self) -> Sequence[Job]:
        return await self._store.overdue(self._database.newest, self._clock.now(), BATCH)

    async def expired(self) -> Sequence[Job]:
        return await self._store.expired(self._database.newest, self._clock.now(), BATCH)

    async def tasks(self, ids: Sequence[str]) -> Sequence[Task]:
        """The replicas of all attempts."""
        return await self._store.tasks(self._database.newest, ids, 0)

    async def ports(self) -> frozenset[int]:
        """All that replicas listen on."""
        return await self._store.ports(self._database.newest)

    async def put_ports(self, id_: str, tasks: Sequence[Task]) -> Sequence[Task]:
        """Keeps what replicas of a job listen on; returns these as they are by then. Some may be about to end."""
        async with self.change([id_]) as change:
            known = {task.key: task for task in await self._store.tasks(change, [id_], 0)}
            kept = [replace(known[task.key], ports=task.ports) for task in tasks if task.key in known]
            await self._store.put_tasks(change, kept)
            return kept

    @asynccontextmanager
    async def change(self, ids: Sequence[str]) -> AsyncIterator[Change]:
        """A change of these jobs, which fails if another instance leads by now."""
        async with self._database.change(*map(job_lock, ids), lease=self._lease) as change:
            yield change

    async def tell(self, news: Sequence[News]) -> Sequence[Job]:
        """Lets events happen to jobs; returns those that changed."""
        if not news:
            return []
        async with self.change([each.job for each in news]) as change:
            changed = await tell(self._store, change, news)
        self.told.note(news)
        return self.noted(changed)

    def noted(self, changed: Sequence[Job]) -> Sequence[Job]:
        """Jobs after a change of theirs: what they are owed by now is looked after at once."""
        self.owing.note({job.life.stage for job in changed})
        return changed

    async def tell_launched(self, news: Sequence[News], told: Collection[TaskKey]) -> Sequence[Job]:
        """As `tell`, by whoever told these replicas to begin. A job is not launched of which others wait by now."""
        if not news:
            return []
        attempts = {each.job: each.event.attempt for each in news}
        async with self.change(list(attempts)) as change:
            tasks = await self._store.tasks(change, list(attempts), 0)
            waiting = {task.key for task in tasks if task.state is TaskState.PENDING} - set(told)
            owed = {key.job for key in waiting if key.attempt == attempts[key.job]}
            meant = [each for each in news if each.event.kind is not Kind.LAUNCHED or each.job not in owed]
            changed = await tell(self._store, change, meant)
        return self.noted(changed)

    async def forget(self, jobs: Sequence[Job]) -> None:
        """Forgets jobs that are over."""
        async with self.change([job.id for job in jobs]) as change:
            await forget(self._store, change, jobs)

    async def owners(self) -> Sequence[Owner]:
        """The users who own jobs."""
        return await self._store.owners(self._database.newest)

    async def owned(self, owner: Owner) -> AsyncIterator[Sequence[Job]]:
        """The jobs of a user, many at a time."""
        last = ""
        while jobs := await self._store.owned(self._database.newest, owner, last, BATCH):
            yield jobs
            last = jobs[-1].id

    async def let_go(self, jobs: Sequence[Job], message: str) -> Sequence[Job]:
        """Stops jobs whose owner is no more, and notes that; returns those that changed."""
        if not jobs:
            return []
        event = Event(kind=Kind.STOPPED, attempt=0, message=message)
        async with self.change([job.id for job in jobs]) as change:
            stopped = await tell(self._store, change, [News(job.id, event) for job in jobs])
            for job in stopped:
                change.audit(departure_entry(SERVICE, f"job/{job.id}"))
        return self.noted(stopped)

    async def leftovers(self, age: timedelta) -> Sequence[TaskKey]:
        """Starts of replicas of jobs that were forgotten so long ago, of which something may still be kept."""
        return await self._store.leftovers(self._database.newest, self._clock.now() - age, BATCH)

    async def clear(self, keys: Sequence[TaskKey]) -> None:
        """Notes that nothing is kept of them any more."""
        async with self.change([]) as change:
            await self._store.clear(change, keys)

    async def listen(self) -> None:
        """Notes for ever what is owed because of what others commit, and what was left for later."""
        while True:
            self.owing.note(await self._owed_stages())
            await self._database.log.commits(until_tick(self._clock.monotonic(), PAUSE))
            await asyncio.sleep(SPACING)

    async def _owed_stages(self) -> Collection[Stage]:
        try:
            return await self._store.owed_stages(self._database.newest, self._clock.now())
        except Problem:
            # Whoever follows finds out, and knows what to do.
            return OWED
