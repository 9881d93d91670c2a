"""Jobs through the Python client, over the real services."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from fixtures_jobs import JobSite
from paddleflow.aio import AsyncPaddleFlow
from paddleflow.models import (
    Bookmark,
    Change,
    ChangeKind,
    Grant,
    Job,
    JobFlavour,
    JobSpec,
    JobState,
    JobType,
    Priority,
    Queue,
    ResourceKind,
    RetryPolicy,
    Role,
    TaskState,
)
from paddleflow.problems import (
    EtagMismatch,
    InvalidArgument,
    JobExists,
    JobNotFound,
    JobStateConflict,
    PermissionDenied,
    QueueNotFound,
)
from paddleflow.sync import PaddleFlow

SMALL = JobFlavour(amounts={"cpu": 100, "memory": 2**20})
TRUE = JobSpec(command="true", flavour=SMALL)
SLEEP = JobSpec(command="sleep 1000", flavour=SMALL)


@pytest.fixture
async def client(job_site: JobSite) -> AsyncIterator[AsyncPaddleFlow]:
    async with AsyncPaddleFlow(job_site.connection()) as opened:
        yield opened


async def held_queue(site: JobSite, client: AsyncPaddleFlow) -> str:
    """A queue in which jobs wait for ever."""
    name = f"held-{site.tag}"
    await client.queues.create(Queue(name, cluster="default-cluster", max={"cpu": 2000, "memory": 2**30}))
    await client.queues.hold(name)
    return name


async def test_a_job_runs_and_is_waited_for(client: AsyncPaddleFlow) -> None:
    made = await client.jobs.create(replace(TRUE, name="nothing", labels={"a": "b"}))
    assert (made.state, made.type, made.owner, made.queue) == (JobState.INIT, JobType.SINGLE, "root", "default-queue")
    over = await client.jobs.wait(made.id)
    assert (over.state, over.message) == (JobState.SUCCEEDED, "")
    assert await client.jobs.wait(made.id) == over
    found = await client.jobs.get(made.id)
    assert [(role.role, role.replicas, role.succeeded) for role in found.roles] == [(Role.MAIN, 1, 1)]
    [task] = [each async for each in client.jobs.tasks(made.id)]
    assert (task.state, task.exit_status, task.role) == (TaskState.SUCCEEDED, 0, Role.MAIN)
    happened = [each async for each in client.jobs.happenings(made.id)]
    assert [each.what for each in happened] == ["accepted", "admitted", "running", "ended", "succeeded"]
    assert [each async for each in client.jobs.happenings(made.id, after=2)] == happened[2:]
    page = await client.jobs.happening_page(made.id, 3)
    assert (list(page.items), page.next_token) == (happened[:3], "3")


def test_programs_with_threads_have_the_same(job_site: JobSite) -> None:
    with PaddleFlow(job_site.connection()) as client:
        made = client.jobs.create(JobSpec(command="exit 3", flavour=SMALL))
        states = [job.state for job in client.jobs.follow(made.id)]
        assert states[-1] is JobState.FAILED
        assert [task.exit_status for task in client.jobs.tasks(made.id)] == [3]


async def test_what_is_wrong_is_told_at_once_and_nothing_runs(client: AsyncPaddleFlow) -> None:
    with pytest.raises(InvalidArgument) as raised:
        await client.jobs.validate(JobSpec(command="true", port=70_000, labels={"-": ""}, retry=RetryPolicy(-1)))
    assert {wrong.field for wrong in raised.value.violations} >= {"port", "labels", "retry.limit"}
    would = await client.jobs.validate(replace(TRUE, id="would-be"))
    assert (would.id, would.spec.priority) == ("would-be", Priority.NORMAL)
    with pytest.raises(JobNotFound):
        await client.jobs.get("would-be")
    with pytest.raises(QueueNotFound):
        await client.jobs.create(replace(TRUE, queue="nowhere"))


async def test_many_are_taken_each_for_itself(job_site: JobSite, client: AsyncPaddleFlow) -> None:
    name = f"many-{job_site.tag}"
    specs = [replace(TRUE, id=name), replace(TRUE, queue="nowhere"), TRUE]
    first, second, third = await client.jobs.create_many(specs)
    assert isinstance(first, Job)
    assert first.id == name
    assert isinstance(second, QueueNotFound)
    assert isinstance(third, Job)
    again, other = await client.jobs.create_many([replace(SLEEP, id=name), TRUE])
    assert isinstance(again, JobExists)
    assert isinstance(other, Job)


async def test_a_repeated_request_has_the_same_reply(job_site: JobSite, client: AsyncPaddleFlow) -> None:
    first = await client.jobs.create(TRUE, request_id=f"once-{job_site.tag}")
    assert (await client.jobs.create(TRUE, request_id=f"once-{job_site.tag}")).id == first.id


async def test_a_waiting_job_is_changed_stopped_and_forgotten(job_site: JobSite, client: AsyncPaddleFlow) -> None:
    queue = await held_queue(job_site, client)
    made = await client.jobs.create(replace(TRUE, queue=queue, labels={"old": "1", "kept": "1"}))
    changed = await client.jobs.update(made.id, labels={"new": "2", "old": None}, annotations={"why": "test"})
    assert (changed.spec.labels, changed.spec.annotations) == ({"kept": "1", "new": "2"}, {"why": "test"})
    with pytest.raises(EtagMismatch):
        await client.jobs.update(made.id, labels={"x": "y"}, etag="0")
    with pytest.raises(JobStateConflict, match="stop it"):
        await client.jobs.delete(made.id)
    assert (await client.jobs.stop(made.id)).state is JobState.TERMINATED
    assert (await client.jobs.wait(made.id)).state is JobState.TERMINATED


async def test_lists_are_filtered_and_go_from_page_to_page(job_site: JobSite, client: AsyncPaddleFlow) -> None:
    queue = await held_queue(job_site, client)
    specs = [replace(TRUE, queue=queue, name=f"n{at}", labels={"parity": str(at % 2)}) for at in range(5)]
    made = [job.id for job in await client.jobs.create_many(specs) if isinstance(job, Job)]
    assert [job.id async for job in client.jobs.list(queue=queue)] == made[::-1]
    page = await client.jobs.page(2, queue=queue)
    rest = await client.jobs.page(9, page.next_token, queue=queue)
    assert [job.id for job in [*page.items, *rest.items]] == made[::-1]
    odd = [job.id async for job in client.jobs.list(queue=queue, labels={"parity": "1"})]
    assert odd == [made[3], made[1]]
    assert [job.id async for job in client.jobs.list(queue=queue, name_prefix="n4")] == [made[4]]
    assert [job async for job in client.jobs.list(queue=queue, states=[JobState.RUNNING])] == []


async def test_a_watch_tells_what_there_is_and_what_happens(job_site: JobSite, client: AsyncPaddleFlow) -> None:
    queue = await held_queue(job_site, client)
    made = await client.jobs.create(replace(TRUE, queue=queue))
    kinds: list[tuple[ChangeKind, JobState]] = []
    async for item in client.jobs.watch(queue=queue):
        match item:
            case Change(kind, job):
                kinds.append((kind, job.state))
                if job.state is JobState.TERMINATED:
                    break
            case Bookmark(_, caught_up=True):
                await client.jobs.stop(made.id)
    assert kinds[0][0] is ChangeKind.EXISTING
    assert kinds[-1] == (ChangeKind.UPDATED, JobState.TERMINATED)


async def test_who_waits_for_what_is_not_there_is_told(client: AsyncPaddleFlow) -> None:
    with pytest.raises(JobNotFound, match="nowhere"):
        await client.jobs.wait("nowhere")


async def test_others_see_jobs_of_queues_granted_to_them_and_change_only_their_own(
    job_site: JobSite, client: AsyncPaddleFlow
) -> None:
    alice, bob = await job_site.add_user("alice"), await job_site.add_user("bob")
    queue = await held_queue(job_site, client)
    await client.grants.create(Grant(alice, ResourceKind.QUEUE, queue))
    roots = await client.jobs.create(replace(TRUE, queue=queue))
    async with AsyncPaddleFlow(job_site.connection(alice)) as as_alice:
        hers = await as_alice.jobs.create(replace(TRUE, queue=queue))
        assert hers.owner == alice
        assert {job.id async for job in as_alice.jobs.list(queue=queue)} == {roots.id, hers.id}
        with pytest.raises(PermissionDenied):
            await as_alice.jobs.stop(roots.id)
        with pytest.raises(PermissionDenied):
            await as_alice.jobs.create(TRUE, owner="root")
    async with AsyncPaddleFlow(job_site.connection(bob)) as as_bob:
        with pytest.raises(JobNotFound):
            await as_bob.jobs.get(hers.id)
        assert [job async for job in as_bob.jobs.list(queue=queue)] == []
    assert (await client.jobs.create(replace(TRUE, queue=queue), owner=alice)).owner == alice
