"""Replicas that are told to end while they are about to be told to begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from pf_job.driving.book import Book
from pf_job.jobs.convert import encode
from pf_job.jobs.domain import Job, Task, TaskKey, TaskState
from pf_job.jobs.life import Event, Grant, Life
from pf_job.jobs.memory import MemoryJobStore
from pf_job.jobs.owing import Owing
from pf_job.jobs.states import Kind, Stage, State
from pf_job.jobs.store import job_lock
from pf_job.jobs.telling import News
from pf_job.runtimes.port import Launch
from pf_job.specs.domain import Framework, JobSpec, JobType, Member, Role, TimeLimits, Work
from pf_kit.clock import SystemClock
from pf_kit.memory import MemoryDatabase
from support.job_rig import Preparation, Rig, driven
from support.waiting import eventually, until

NOW = datetime(2030, 1, 1, tzinfo=UTC)
WORKER = Member(role=Role.WORKER, replicas=2, max_replicas=6)
JOINING = JobSpec(
    framework=Framework.PADDLE,
    work=Work(command="sleep 1000"),
    members=(Member(role=Role.PSERVER), WORKER),
    limits=TimeLimits(steady=timedelta(0)),
)
TOGETHER = replace(JOINING, members=(WORKER,))


@dataclass
class Overtaken(Preparation):
    """As soon as a third worker is about to start, it is taken back, and its runtime told so."""

    rigs: list[Rig] = field(default_factory=list)
    overtaken: list[TaskKey] = field(default_factory=list)

    async def launches(self, job: Job, crew: Sequence[Task], tasks: Sequence[Task]) -> Sequence[Launch]:
        found = await super().launches(job, crew, tasks)
        newcomers = [task.key for task in tasks if task.key.role == Role.WORKER and task.key.index == 2]
        if newcomers and not self.overtaken:
            self.overtaken += newcomers
            self.rigs[0].queue.take(job, 1)
            await eventually(self._ended)
        return found

    async def _ended(self) -> bool:
        states = {task.key: task.state for task in await self.rigs[0].tasks()}
        return states[self.overtaken[0]] is TaskState.STOPPED


@pytest.mark.parametrize("spec", [JOINING, TOGETHER], ids=["joining", "together"])
async def test_a_job_goes_on_though_one_is_told_to_begin_after_it_was_told_to_end(spec: JobSpec) -> None:
    preparation = Overtaken()
    async with driven(preparation=preparation) as rig:
        preparation.rigs.append(rig)
        job = await rig.create(spec)
        await rig.until_runs(2)
        rig.queue.grow(job, 1)
        await until(lambda: bool(preparation.overtaken))
        await rig.until_runs(2)
        await rig.until(Stage.WATCH)
        assert (await rig.job()).life.state is State.RUNNING
        assert preparation.overtaken[0] not in rig.runtime.begun


async def test_to_keep_ports_makes_nobody_begin_who_is_about_to_end() -> None:
    database, store = MemoryDatabase(encode=encode, clock=SystemClock()), MemoryJobStore()
    book = Book(database=database, store=store, clock=SystemClock(), lease=None, owing=Owing())
    key = TaskKey("job", 1, "worker", 0)
    async with database.change(job_lock("job")) as change:
        await store.put_tasks(change, [Task(key=key, state=TaskState.STOPPING)])
    (kept,) = await book.put_ports("job", [Task(key=key, ports={"trainer": 1})])
    assert kept == Task(key=key, state=TaskState.STOPPING, ports={"trainer": 1})
    assert await book.tasks(["job"]) == [kept]


async def test_a_job_is_not_launched_of_which_somebody_was_to_be_started_again_meanwhile() -> None:
    database, store = MemoryDatabase(encode=encode, clock=SystemClock()), MemoryJobStore()
    book = Book(database=database, store=store, clock=SystemClock(), lease=None, owing=Owing())
    first = TaskKey("job", 1, "main", 0)
    again = replace(first, restart=1)
    life = Life(accept_time=NOW, stage=Stage.LAUNCH, state=State.RUNNING, grant=Grant("g", 1, "c", {"main": 1}, NOW))
    async with database.change(job_lock("job")) as change:
        await store.add(change, [Job(id="job", owner="alice", type=JobType.SINGLE, spec=JobSpec(), life=life)])
        await store.put_tasks(change, [Task(key=first, state=TaskState.FAILED), Task(key=again)])
    launched = [News("job", Event(kind=Kind.LAUNCHED, attempt=1))]
    assert await book.tell_launched(launched, {first}) == []
    (job,) = await book.tell_launched(launched, {first, again})
    assert job.life.stage is Stage.WATCH
