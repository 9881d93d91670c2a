"""Jobs over a socket: from the request to the end of their processes."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from fixtures_jobs import JobSite
from paddleflow.job.v1 import job_pb2, spec_pb2

PATIENCE = 30.0
OVER = frozenset(
    {
        job_pb2.JOB_STATE_SUCCEEDED,
        job_pb2.JOB_STATE_FAILED,
        job_pb2.JOB_STATE_TERMINATED,
        job_pb2.JOB_STATE_PREEMPTED,
    }
)


async def create(site: JobSite, command: str, **fields: Any) -> job_pb2.Job:
    draft = job_pb2.Job(spec=spec_pb2.JobSpec(command=command, **fields))
    made: job_pb2.Job = (await site.root(job_pb2.CreateJobRequest(job=draft))).job
    return made


async def get(site: JobSite, id_: str) -> job_pb2.Job:
    found: job_pb2.Job = (await site.root(job_pb2.GetJobRequest(id=id_))).job
    return found


async def until(site: JobSite, id_: str, *states: job_pb2.JobState.ValueType) -> job_pb2.Job:
    deadline = time.monotonic() + PATIENCE
    while (job := await get(site, id_)).state not in states:
        assert time.monotonic() < deadline, f"{job}\n{site.process.log}"
        await asyncio.sleep(0.01)
    return job


async def what(site: JobSite, id_: str) -> list[str]:
    reply = await site.root(job_pb2.ListHappeningsRequest(id=id_))
    return [happening.what for happening in reply.happenings]


async def test_a_job_runs_to_its_end(job_site: JobSite) -> None:
    made = await create(job_site, "true", name="nothing")
    assert made.state == job_pb2.JOB_STATE_INIT
    over = await until(job_site, made.id, *OVER)
    assert (over.state, over.message) == (job_pb2.JOB_STATE_SUCCEEDED, "")
    assert over.start_time.ToMicroseconds() <= over.finish_time.ToMicroseconds()
    assert await what(job_site, made.id) == ["accepted", "admitted", "running", "ended"]


async def test_a_job_that_fails_says_how(job_site: JobSite) -> None:
    made = await create(job_site, "exit 3")
    over = await until(job_site, made.id, *OVER)
    assert (over.state, over.message) == (job_pb2.JOB_STATE_FAILED, "it ended with exit status 3")
    (task,) = (await job_site.root(job_pb2.ListTasksRequest(id=made.id))).tasks
    assert (task.state, task.exit_status) == (job_pb2.TASK_STATE_FAILED, 3)


async def test_a_job_is_tried_again(job_site: JobSite) -> None:
    retry = spec_pb2.RetryPolicy(limit=1)
    retry.backoff.FromMilliseconds(10)
    made = await create(job_site, "false", retry=retry)
    over = await until(job_site, made.id, *OVER)
    assert (over.state, over.attempt, over.retries) == (job_pb2.JOB_STATE_FAILED, 2, 1)


async def test_a_job_is_stopped(job_site: JobSite) -> None:
    made = await create(job_site, "sleep 1000")
    await until(job_site, made.id, job_pb2.JOB_STATE_RUNNING)
    await job_site.root(job_pb2.StopJobRequest(id=made.id))
    over = await until(job_site, made.id, *OVER)
    assert (over.state, over.message) == (job_pb2.JOB_STATE_TERMINATED, "stopped by root")
    (task,) = (await job_site.root(job_pb2.ListTasksRequest(id=made.id))).tasks
    assert task.state == job_pb2.TASK_STATE_STOPPED
