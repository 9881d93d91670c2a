"""What is away keeps only those waiting who need it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from unittest.mock import patch

import pf_job.driving.book
from paddleflow.problems import Unavailable
from pf_job.driving.ports import AttemptKey
from pf_job.jobs.domain import Job
from pf_job.jobs.life import Ending, Event, Grant, Life
from pf_job.jobs.states import Kind, Stage, State
from pf_job.jobs.store import job_lock
from pf_job.jobs.telling import News, tell
from pf_job.specs.domain import Framework, JobSpec, JobType, Member, Role, Work
from support.job_rig import LATER, Rig, driven

SPEC = JobSpec(
    framework=Framework.PADDLE, work=Work(command="sleep 1000"), members=(Member(role=Role.WORKER, replicas=1),)
)


async def halted_elsewhere(rig: Rig, id_: str) -> None:
    """A job that is to end on a cluster which is not connected any more."""
    grant = Grant("g", 1, "away", {"worker": 1}, LATER)
    life = Life(accept_time=datetime.now(UTC), stage=Stage.HALT, state=State.TERMINATING, grant=grant)
    life = replace(life, ending=Ending.STOPPED)
    job = Job(id=id_, owner="alice", type=JobType.DISTRIBUTED, spec=replace(SPEC, id=id_), life=life)
    async with rig.database.change(job_lock(id_)) as change:
        await rig.store.add(change, [job])


async def test_jobs_end_though_more_than_are_looked_at_at_once_are_to_end_where_nobody_answers() -> None:
    with patch.object(pf_job.driving.book, "BATCH", 2):
        async with driven() as rig:
            for id_ in ("a", "b", "c"):
                await halted_elsewhere(rig, id_)
            await rig.create(SPEC)
            await rig.until_runs(1)
            async with rig.database.change(job_lock("job")) as change:
                await tell(rig.store, change, [News("job", Event(kind=Kind.STOPPED, attempt=0, abrupt=True))])
            await rig.until(Stage.OVER)


async def test_a_job_is_seen_to_end_though_the_queue_cannot_be_told_that_it_runs() -> None:
    async def away(_: Mapping[AttemptKey, str]) -> None:
        raise Unavailable("the queue service is away")

    async with driven() as rig:
        with patch.object(rig.queue, "report_running", away):
            await rig.create(replace(SPEC, work=Work(command="sleep 0.3")))
            await rig.until(Stage.OVER)
