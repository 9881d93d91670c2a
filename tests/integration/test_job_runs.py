"""Jobs over a socket: from the request to the end of their processes."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from fixtures_jobs import JobSite
from paddleflow.job.v1 import job_pb2, spec_pb2
from paddleflow.problems import JobStateConflict
from paddleflow.queue.v1 import queue_pb2

PATIENCE = 30.0
OVER = frozenset(
    {
        job_pb2.JOB_STATE_SUCCEEDED,
        job_pb2.JOB_STATE_FAILED,
        job_pb2.JOB_STATE_TERMINATED,
        job_pb2.JOB_STATE_PREEMPTED,
    }
)


CORES = {"amounts": {"cpu": 2_000, "memory": 2**20}}
"""All cores that a test machine surely has; replicas of two such jobs never run at once."""


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


async def test_a_job_is_stopped_before_it_is_admitted(job_site: JobSite) -> None:
    await job_site.queues(queue_pb2.CreateQueueRequest(queue=queue(job_site, "held", max=CORES)))
    await job_site.queues(queue_pb2.HoldQueueRequest(name=f"held-{job_site.tag}"))
    made = await create(job_site, "true", **wants(job_site, "held"))
    await until(job_site, made.id, job_pb2.JOB_STATE_PENDING)
    stopped: job_pb2.Job = (await job_site.root(job_pb2.StopJobRequest(id=made.id))).job
    assert stopped.state == job_pb2.JOB_STATE_TERMINATED
    await until_deleted(job_site, made.id)


async def test_a_job_is_pushed_out_by_a_guarantee_and_runs_again(job_site: JobSite) -> None:
    await job_site.queues(queue_pb2.CreateQueueRequest(queue=queue(job_site, "low")))
    await job_site.queues(queue_pb2.CreateQueueRequest(queue=queue(job_site, "high", min=CORES)))
    victim = await create(job_site, "sleep 1000", **wants(job_site, "low"))
    await until(job_site, victim.id, job_pb2.JOB_STATE_RUNNING)
    mine = await create(job_site, "sleep 0.2", **wants(job_site, "high"))
    assert (await until(job_site, mine.id, *OVER)).state == job_pb2.JOB_STATE_SUCCEEDED
    again = await until(job_site, victim.id, job_pb2.JOB_STATE_RUNNING)
    assert (again.attempt, again.retries) == (2, 0)
    assert "evicted" in await what(job_site, victim.id)
    await job_site.root(job_pb2.StopJobRequest(id=victim.id, now=True))
    await until(job_site, victim.id, *OVER)
    tasks = (await job_site.root(job_pb2.ListTasksRequest(id=victim.id, attempt=-1))).tasks
    assert [(task.attempt, task.state) for task in tasks] == [
        (1, job_pb2.TASK_STATE_STOPPED),
        (2, job_pb2.TASK_STATE_STOPPED),
    ]


def queue(site: JobSite, word: str, **fields: Any) -> queue_pb2.Queue:
    return queue_pb2.Queue(name=f"{word}-{site.tag}", cluster="default-cluster", **fields)


def wants(site: JobSite, word: str) -> dict[str, Any]:
    """All cores, in a queue of the test."""
    return {"scheduling_policy": {"queue": f"{word}-{site.tag}"}, "flavour": {"amounts": CORES}}


async def until_deleted(site: JobSite, id_: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            await site.root(job_pb2.DeleteJobRequest(id=id_))
        except JobStateConflict:
            assert time.monotonic() < deadline, site.process.log
            await asyncio.sleep(0.01)
        else:
            return
