"""What runtimes keep of jobs that are forgotten goes too, but not as long as a start of them may be on its way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from unittest.mock import Mock, patch

import pf_job.driving.loops
from paddleflow.problems import NotFound
from pf_job.jobs.domain import Job, Task
from pf_job.jobs.life import Event
from pf_job.jobs.service import forget
from pf_job.jobs.states import Kind, Stage
from pf_job.jobs.store import job_lock
from pf_job.jobs.telling import News, tell
from pf_job.runtimes.port import Launch, ReplicaKey
from pf_job.specs.domain import Framework, JobSpec, Member, Role, Work
from support import job_rig
from support.job_rig import Preparation, Rig, driven
from support.waiting import eventually, until

SPEC = JobSpec(
    framework=Framework.PADDLE, work=Work(command="sleep 1000"), members=(Member(role=Role.WORKER, replicas=2),)
)
SOON = {"LATE_SECONDS": 0.01, "EXPIRED_SECONDS": 0.02, "AGAIN_SECONDS": 0.02}
"""As in the rig, but with the time for which starts may be on their way as the service has it."""
FIRST = ReplicaKey("job", 1, "worker", 0, 0)


async def forgotten(rig: Rig) -> None:
    """A job that ran, was stopped and is forgotten."""
    await rig.create(SPEC)
    await rig.until_runs(2)
    async with rig.database.change(job_lock("job")) as change:
        await tell(rig.store, change, [News("job", Event(kind=Kind.STOPPED, attempt=0, abrupt=True))])
    job = await rig.until(Stage.OVER)
    async with rig.database.change(job_lock("job")) as change:
        await forget(rig.store, change, [job])


async def is_gone(rig: Rig) -> bool:
    try:
        await rig.runtime.read_log(FIRST, 0, 1)
    except NotFound:
        return True
    return False


async def test_it_goes_after_a_while() -> None:
    async with driven() as rig:
        await forgotten(rig)
        assert not await is_gone(rig)
        await eventually(lambda: is_gone(rig))


@dataclass
class Remembering(Preparation):
    """Keeps the starts that it made."""

    made: list[Launch] = field(default_factory=list)

    async def launches(self, job: Job, crew: Sequence[Task], tasks: Sequence[Task]) -> Sequence[Launch]:
        self.made += (found := await super().launches(job, crew, tasks))
        return found


async def test_a_start_that_comes_late_begins_nothing() -> None:
    preparation = Remembering()
    with patch.multiple(job_rig, HASTE={**job_rig.HASTE, pf_job.driving.loops: SOON}):
        async with driven(preparation=preparation) as rig:
            await forgotten(rig)
            begun = list(rig.runtime.begun)
            looked = Mock(wraps=rig.store.leftovers)
            with patch.object(rig.store, "leftovers", looked):
                await until(lambda: looked.call_count > 2)
            await rig.runtime.start(preparation.made)
            assert rig.runtime.begun == begun
