"""The priority of a job may change as long as it waits, and its queue hears of each change, whatever crashes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace

import pytest

from fixtures_jobs import JobSite
from paddleflow.aio import AsyncPaddleFlow
from paddleflow.models import JobFlavour, JobSpec, JobState, Priority, Queue, Workload, WorkloadKey
from paddleflow.problems import JobStateConflict, WorkloadNotFound
from support.waiting import eventually

QUICK = JobSpec(command="true", flavour=JobFlavour(amounts={"cpu": 100, "memory": 2**20}))
SLEEP = replace(QUICK, command="sleep 1000")
FIRM = replace(SLEEP, priority=Priority.HIGH)
HIGH, LOW = 1000, -1000


@pytest.fixture
async def client(job_site: JobSite) -> AsyncIterator[AsyncPaddleFlow]:
    async with AsyncPaddleFlow(job_site.connection()) as opened:
        yield opened


@pytest.fixture
async def narrow(job_site: JobSite, client: AsyncPaddleFlow) -> str:
    """A queue with room for one job."""
    queue = Queue(f"narrow-{job_site.tag}", cluster="default-cluster", max={"cpu": 100, "memory": 2**30})
    return (await client.queues.create(queue)).name


async def known(client: AsyncPaddleFlow, id_: str, priority: int) -> Workload:
    """The workload of a job, as soon as its queue knows this priority."""

    async def there() -> Workload | None:
        with suppress(WorkloadNotFound):
            found = await client.workloads.get(WorkloadKey(id_))
            return found if found.priority == priority else None
        return None

    return await eventually(there, 20.0)


async def test_who_waits_is_first_when_its_priority_is_higher(client: AsyncPaddleFlow, narrow: str) -> None:
    first, second, third = [
        (await client.jobs.create(replace(spec, queue=narrow))).id for spec in (SLEEP, QUICK, QUICK)
    ]
    changed = await client.jobs.update(third, priority=Priority.HIGH)
    assert (changed.state.over, changed.spec.priority) == (False, Priority.HIGH)
    await known(client, third, HIGH)
    await client.jobs.stop(first, now=True)
    ends = [(await client.jobs.wait(id_)).start_time for id_ in (third, second)]
    assert ends == sorted(ends, key=str)
    assert "changed" in [each.what async for each in client.jobs.happenings(third)]


async def test_the_last_of_many_changes_is_the_one_that_holds(client: AsyncPaddleFlow, narrow: str) -> None:
    # As high as the highest that the other is given: it is not to make way.
    first, made = [(await client.jobs.create(replace(spec, queue=narrow))).id for spec in (FIRM, QUICK)]
    for priority in (Priority.HIGH, Priority.LOW, Priority.HIGH, Priority.NORMAL, Priority.LOW):
        await client.jobs.update(made, priority=priority)
    assert (await known(client, made, LOW)).revision >= 1
    for id_ in (first, made):
        await client.jobs.stop(id_, now=True)
    assert (await client.jobs.wait(made)).state is JobState.TERMINATED


async def test_who_does_not_wait_keeps_its_priority_and_may_have_other_labels(client: AsyncPaddleFlow) -> None:
    made = await client.jobs.create(SLEEP)
    async for job in client.jobs.follow(made.id):
        if job.state is JobState.RUNNING:
            break
    with pytest.raises(JobStateConflict):
        await client.jobs.update(made.id, priority=Priority.HIGH, labels={"a": "b"})
    same = await client.jobs.update(made.id, priority=Priority.NORMAL, labels={"c": "d"}, annotations={"e": "f"})
    assert (same.spec.labels, same.spec.annotations, same.spec.priority) == ({"c": "d"}, {"e": "f"}, Priority.NORMAL)
    assert (await client.jobs.get(made.id)).state is JobState.RUNNING
    await client.jobs.stop(made.id, now=True)
    over = await client.jobs.wait(made.id)
    assert (await client.jobs.update(over.id, labels={"c": None})).spec.labels == {}
    with pytest.raises(JobStateConflict):
        await client.jobs.update(over.id, priority=Priority.LOW)


async def test_a_change_is_told_though_both_services_are_killed(
    job_site: JobSite, client: AsyncPaddleFlow, narrow: str
) -> None:
    queue, jobs = job_site.process.queue, job_site.process
    first, made = [(await client.jobs.create(replace(spec, queue=narrow))).id for spec in (SLEEP, QUICK)]
    await known(client, made, 0)
    await asyncio.to_thread(queue.kill)
    await client.jobs.update(made, priority=Priority.HIGH)
    await asyncio.to_thread(jobs.kill)
    await asyncio.to_thread(queue.start)
    await asyncio.to_thread(jobs.start)
    await known(client, made, HIGH)
    await client.jobs.stop(first, now=True)
    assert (await client.jobs.wait(made)).state is JobState.SUCCEEDED
