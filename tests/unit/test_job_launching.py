"""What happens to jobs when something that they need to start does not answer, or refuses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from unittest.mock import patch

import pytest

import pf_job.driving.book
from paddleflow.problems import (
    Conflict,
    DeadlineExceeded,
    FilesystemNotFound,
    FolderUnusable,
    Internal,
    Overloaded,
    PermissionDenied,
    Problem,
    ShuttingDown,
    TooManyCalls,
    Unavailable,
)
from pf_job.jobs.domain import Job, Task
from pf_job.jobs.states import State
from pf_job.runtimes.fake import FakeRuntime
from pf_job.runtimes.port import Launch, Refused
from pf_job.specs.domain import Framework, JobSpec, Member, Role, Work
from support.job_rig import Preparation, driven
from support.waiting import eventually, until

SPEC = JobSpec(
    framework=Framework.PADDLE, work=Work(command="sleep 1000"), members=(Member(role=Role.WORKER, replicas=2),)
)


@dataclass
class Failing(Preparation):
    """Fails for jobs, so often."""

    problem: type[Problem]
    times: int = 3
    only: frozenset[str] = frozenset({"job"})
    failures: list[str] = field(default_factory=list)

    async def launches(self, job: Job, crew: Sequence[Task], tasks: Sequence[Task]) -> Sequence[Launch]:
        if job.id in self.only and self.failures.count(job.id) < self.times:
            self.failures.append(job.id)
            raise self.problem("not now")
        return await super().launches(job, crew, tasks)


@pytest.mark.parametrize("problem", [ShuttingDown, DeadlineExceeded, Overloaded, TooManyCalls, Conflict, Internal])
async def test_a_job_waits_for_what_does_not_answer(problem: type[Problem]) -> None:
    preparation = Failing(problem)
    async with driven(preparation=preparation) as rig:
        await rig.create(SPEC)
        await rig.until_runs(2)
    assert len(preparation.failures) == 3


class NotYet(FakeRuntime):
    """Cannot start replicas at first."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    async def start(self, launches: Sequence[Launch]) -> Sequence[Refused]:
        self.asked += 1
        if self.asked <= 2:
            return [Refused(launch.key, Unavailable("its files are being mounted")) for launch in launches]
        return await super().start(launches)


async def test_replicas_that_cannot_be_started_yet_are_started_later() -> None:
    runtime = NotYet()
    async with driven(runtime) as rig:
        await rig.create(SPEC)
        await rig.until_runs(2)
    assert runtime.asked == 3


@pytest.mark.parametrize("problem", [PermissionDenied, FilesystemNotFound, FolderUnusable])
async def test_a_job_fails_that_is_refused_what_it_needs(problem: type[Problem]) -> None:
    async with driven(preparation=Failing(problem)) as rig:
        await rig.create(SPEC)

        async def failed() -> Job | None:
            job = await rig.job()
            return job if job.life.state is State.FAILED else None

        assert (await eventually(failed)).life.message == "not now"


async def test_jobs_that_wait_hold_up_no_others() -> None:
    stuck = frozenset(f"stuck-{n}" for n in range(5))
    preparation = Failing(DeadlineExceeded, times=1_000_000, only=stuck)
    with patch.multiple(pf_job.driving.book, BATCH=3):
        async with driven(preparation=preparation) as rig:
            for id_ in sorted(stuck):
                await rig.create(SPEC, id_)
            await until(lambda: len(set(preparation.failures)) == len(stuck))
            await rig.create(SPEC)
            await rig.until_runs(2)
