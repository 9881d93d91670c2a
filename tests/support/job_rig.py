"""The driving of jobs over a database in memory, a runtime that runs nothing, and a queue that does as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pf_job.driving.book
import pf_job.driving.later
import pf_job.driving.leaving
import pf_job.driving.loops
import pf_job.driving.trying
from paddleflow.problems import UserNotFound
from pf_job.driving.book import Book
from pf_job.driving.convert import shrunk
from pf_job.driving.crews import launch
from pf_job.driving.loops import Driver
from pf_job.driving.ports import AttemptKey, GivenBack, Left, Standing, Submitted, Wish
from pf_job.jobs.convert import encode
from pf_job.jobs.crew import last_starts, members
from pf_job.jobs.domain import Happening, Job, Task, TaskState
from pf_job.jobs.life import Ending, Event, Grant, Life
from pf_job.jobs.memory import MemoryJobStore
from pf_job.jobs.owing import Owing
from pf_job.jobs.states import Kind, Stage
from pf_job.jobs.store import job_lock
from pf_job.jobs.telling import News
from pf_job.runtimes.fake import FakeRuntime
from pf_job.runtimes.port import Ceiling, Launch, Machine
from pf_job.specs.defaults import filled
from pf_job.specs.domain import JobSpec, JobType
from pf_kit.clock import SystemClock
from pf_kit.memory import MemoryDatabase
from support.waiting import eventually

CLUSTER = "local"
KEPT = timedelta(days=7)
LATER = datetime.now(UTC) + timedelta(days=1)
HASTE: Mapping[ModuleType, Mapping[str, Any]] = {
    pf_job.driving.loops: {"LATE_SECONDS": 0.01, "EXPIRED_SECONDS": 0.05, "LEFT_SECONDS": 0.2, "AGAIN_SECONDS": 0.02},
    pf_job.driving.book: {"PAUSE": 0.02},
    pf_job.driving.leaving: {"LOOK_SECONDS": 0.1, "STOPPING_SECONDS": 0.02},
    pf_job.driving.later: {"AGAIN_SECONDS": 0.05},
    pf_job.driving.trying: {"LONGEST_BACKOFF": 0.05},
}
"""Seconds, each shorter than the service has it."""


@dataclass
class FakeQueue:
    """Fulfils `Admission`: admits all with their least, and gives and takes surplus when the test says so."""

    news: asyncio.Queue[News] = field(default_factory=asyncio.Queue)
    wishes: dict[AttemptKey, Wish] = field(default_factory=dict)
    held: dict[AttemptKey, Grant] = field(default_factory=dict)
    leaving: dict[AttemptKey, int] = field(default_factory=dict)
    resized: list[Left] = field(default_factory=list)
    over: list[AttemptKey] = field(default_factory=list)

    async def submit(self, wishes: Sequence[Wish]) -> Submitted:
        for wish in wishes:
            if wish.key not in self.wishes:
                self.wishes[wish.key] = wish
                least = {role.role: role.least for role in wish.roles}
                self.held[wish.key] = Grant(f"g-{wish.key.attempt}", 1, CLUSTER, least, LATER)
        return Submitted(admitted={wish.key: self.held[wish.key] for wish in wishes})

    async def revise(self, wishes: Sequence[Wish]) -> None:
        """Nobody waits here."""

    async def release(self, given: Sequence[GivenBack]) -> Mapping[AttemptKey, Grant | None]:
        for each in given:
            if self.held.pop(each.key, None) is not None:
                self.over.append(each.key)
                if each.ending is Ending.EVICTED:
                    await self.submit([replace(self.wishes[each.key], key=_next(each.key))])
                    self.tell(_next(each.key))
        return {}

    async def resize(self, left: Sequence[Left]) -> Mapping[AttemptKey, Grant]:
        found: dict[AttemptKey, Grant] = {}
        for each in left:
            self.resized.append(each)
            if each.key in self.held:
                found[each.key] = self._shrink(each)
        return found

    async def report_running(self, running: Mapping[AttemptKey, str]) -> None:
        """Nobody is shielded here."""

    async def report_machines(self, cluster: str, machines: Sequence[Machine]) -> None:
        """All fits."""

    async def standings(self) -> Sequence[Standing]:
        return [self._standing(key, grant) for key, grant in self.held.items()]

    def grow(self, job: Job, count: int) -> None:
        """Gives so many workers more, each by itself."""
        key = AttemptKey(job.id, job.life.attempt)
        for _ in range(count):
            grant = self.held[key]
            more = {**grant.replicas, "worker": grant.replicas["worker"] + 1}
            self.held[key] = replace(grant, version=grant.version + 1, replicas=more)
            self.tell(key)

    def take(self, job: Job, count: int, *, heard: bool = True) -> None:
        """Takes back so many workers."""
        key = AttemptKey(job.id, job.life.attempt)
        self.leaving[key] = self.leaving.get(key, 0) + count
        standing = self._standing(key, self.held[key])
        if heard and standing.left is not None:
            self.news.put_nowait(shrunk(key, standing.left, self.held[key].version + 1, " (other)"))

    def evict(self, job: Job) -> None:
        self.news.put_nowait(News(job.id, Event(kind=Kind.EVICTED, attempt=job.life.attempt, message="pushed out")))

    def tell(self, key: AttemptKey) -> None:
        event = Event(kind=Kind.ADMITTED, attempt=key.attempt, grant=self.held[key])
        self.news.put_nowait(News(key.job, event))

    def workers(self, job: Job) -> int:
        """How many workers are charged."""
        return self.held[AttemptKey(job.id, job.life.attempt)].replicas["worker"]

    def _standing(self, key: AttemptKey, grant: Grant) -> Standing:
        leaving = self.leaving.get(key, 0)
        left = {**grant.replicas, "worker": grant.replicas["worker"] - leaving} if leaving else None
        return Standing(key, grant, False, left)

    def _shrink(self, left: Left) -> Grant:
        grant, wish = self.held[left.key], self.wishes[left.key]
        least = next(role.least for role in wish.roles if role.role == "worker")
        gone = grant.replicas["worker"] - least - left.surplus["worker"]
        if gone > 0:
            fewer = {**grant.replicas, "worker": grant.replicas["worker"] - gone}
            self.held[left.key] = replace(grant, version=grant.version + 1, replicas=fewer)
            self.leaving[left.key] = max(0, self.leaving.get(left.key, 0) - gone)
        return self.held[left.key]


class Preparation:
    """Gives out ports one after the other."""

    async def launches(self, job: Job, crew: Sequence[Task], tasks: Sequence[Task]) -> Sequence[Launch]:
        return [launch(job, crew, task, (), Ceiling(log=1000)) for task in tasks]

    def free_ports(self, taken: Collection[int]) -> Iterator[int]:
        return (port for port in range(20_000, 30_000) if port not in taken)


@dataclass
class FakeUsers:
    """Fulfils `Users`."""

    known: dict[str, datetime] = field(default_factory=dict)

    async def since(self, name: str) -> datetime:
        if name not in self.known:
            raise UserNotFound(f"no user {name!r}")
        return self.known[name]

    async def all(self) -> Mapping[str, datetime]:
        return dict(self.known)


@dataclass
class Rig:
    """What a test works with."""

    database: MemoryDatabase
    store: MemoryJobStore
    runtime: FakeRuntime
    queue: FakeQueue
    amiss: asyncio.Event
    left: asyncio.Event = field(default_factory=asyncio.Event)
    users: FakeUsers = field(default_factory=FakeUsers)

    async def create(self, spec: JobSpec, id_: str = "job", since: datetime | None = None) -> Job:
        """A job of alice, who is there since then; of a service if there is no such time."""
        whole = filled(replace(spec, id=id_), KEPT)
        life = Life(accept_time=datetime.now(UTC))
        job = Job(id=id_, owner="alice", owner_since=since, type=JobType.DISTRIBUTED, spec=whole, life=life)
        async with self.database.change(job_lock(job.id)) as change:
            (made,) = await self.store.add(change, [job])
        return made

    async def job(self) -> Job:
        (job,) = await self.store.jobs(self.database.newest, ["job"])
        return job

    async def tasks(self) -> Sequence[Task]:
        return await self.store.tasks(self.database.newest, ["job"], 0)

    async def crew(self) -> Sequence[Task]:
        job = await self.job()
        return members(job, last_starts(job, await self.tasks()))

    async def until(self, stage: Stage) -> Job:
        """The job, as soon as it is at a stage."""

        async def there() -> Job | None:
            job = await self.job()
            return job if job.life.stage is stage else None

        return await eventually(there)

    async def until_runs(self, workers: int) -> Sequence[Task]:
        """The crew, as soon as it has so many workers, which all run, and nothing more is to be done."""

        async def there() -> Sequence[Task] | None:
            job, crew = await self.job(), await self.crew()
            whole = job.life.replicas.get("worker") == workers and job.life.stage is Stage.WATCH
            live = [task for task in crew if task.state in (TaskState.RUNNING, TaskState.FAILED, TaskState.LOST)]
            calm = not any(task.state is TaskState.STOPPING for task in await self.tasks())
            wanted = sum(job.life.replicas.values())
            return crew if whole and calm and len(live) == len(crew) == wanted else None

        return await eventually(there)

    async def happenings(self) -> Sequence[Happening]:
        return await self.store.happenings(self.database.newest, "job", 0, 1000)


@asynccontextmanager
async def driven(runtime: FakeRuntime | None = None, preparation: Preparation | None = None) -> AsyncIterator[Rig]:
    """Jobs are driven inside."""
    database, store = MemoryDatabase(encode=encode, clock=SystemClock()), MemoryJobStore()
    rig = Rig(database, store, runtime or FakeRuntime(), FakeQueue(), asyncio.Event())
    book = Book(database=database, store=store, clock=SystemClock(), lease=None, owing=Owing())
    driver = Driver(
        book=book,
        store=store,
        admission=rig.queue,
        runtimes={CLUSTER: rig.runtime},
        preparation=preparation or Preparation(),
        amiss=rig.amiss,
        left=rig.left,
        users=rig.users,
        clock=SystemClock(),
    )

    async def hear() -> None:
        while True:
            await book.tell([await rig.queue.news.get()])

    with ExitStack() as hasty:
        for module, shorter in HASTE.items():
            hasty.enter_context(patch.multiple(module, **shorter))
        driving = asyncio.create_task(driver.run(hear))
        try:
            yield rig
            assert not driving.done(), driving
        finally:
            driving.cancel()
            await asyncio.wait([driving])


def _next(key: AttemptKey) -> AttemptKey:
    return AttemptKey(key.job, key.attempt + 1)
