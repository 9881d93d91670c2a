"""Which jobs use a filesystem."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from pf_job.jobs.convert import encode
from pf_job.jobs.domain import Job
from pf_job.jobs.life import Life
from pf_job.jobs.memory import MemoryJobStore
from pf_job.jobs.states import Stage, State
from pf_job.specs.domain import FilesystemMount, JobSpec, JobType, Member, Role, Work
from pf_job.uses.finding import JobUses
from pf_kit.clock import SystemClock
from pf_kit.memory import MemoryDatabase

DATA = "fs-alice-data"


def job(number: int, stage: Stage, state: State, fs: str = DATA) -> Job:
    work = Work(command="true", fs=FilesystemMount(id=fs, name="data"))
    spec = JobSpec(id=f"job-{number}", members=(Member(role=Role.WORKER, work=work),))
    life = Life(accept_time=datetime.now(UTC), stage=stage, state=state)
    return Job(id=spec.id, owner="alice", type=JobType.SINGLE, spec=spec, life=life)


async def found(*jobs: Job) -> Sequence[str]:
    database, store = MemoryDatabase(encode=encode, clock=SystemClock()), MemoryJobStore()
    async with database.change() as change:
        await store.add(change, jobs)
    return [use.id async for use in JobUses(database=database, store=store).of(DATA)]


@pytest.mark.parametrize(
    ("stage", "state"),
    [
        (Stage.SUBMIT, State.PENDING),
        (Stage.QUEUED, State.PENDING),
        (Stage.WATCH, State.RUNNING),
        (Stage.ENDING, State.TERMINATED),
    ],
)
async def test_jobs_use_it_until_their_replicas_are_gone(stage: Stage, state: State) -> None:
    assert await found(job(1, stage, state), job(2, stage, state, fs="fs-alice-other")) == ["job-1"]


async def test_jobs_that_are_over_do_not() -> None:
    assert await found(job(1, Stage.RELEASE, State.SUCCEEDED), job(2, Stage.OVER, State.FAILED)) == []
