"""Elastic jobs with real processes, in queues that give and take."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fixtures_jobs import JobSite
from paddleflow.common.v1 import resources_pb2
from paddleflow.fs.v1 import fs_pb2
from paddleflow.job.v1 import job_pb2, spec_pb2
from paddleflow.problems import InvalidArgument
from paddleflow.queue.v1 import admission_pb2, queue_pb2, workload_pb2
from support.waiting import eventually, until

PATIENCE = 30.0
CPU = 200
"""Of each replica, in thousandths of a core."""
WHOLE = {"cpu": 10 * CPU, "memory": 2**30}
"""What both queues of a test share."""
RUNNING, STOPPED, LOST_OR_FAILED = (
    job_pb2.TASK_STATE_RUNNING,
    job_pb2.TASK_STATE_STOPPED,
    frozenset({job_pb2.TASK_STATE_LOST, job_pb2.TASK_STATE_FAILED}),
)
NOTE = 'echo "$PADDLE_TRAINER_ID" >> starts; '
"""Leaves a line for each start of a trainer."""
DIES = "while sleep 0.05; do rm die 2>/dev/null && kill -9 $$; done"
"""Runs until it finds a file that it takes away, and is killed."""
ALL_REDUCE = """
import os, socket, sys, time
rank, size = int(os.environ["PADDLE_TRAINER_ID"]), int(os.environ["PADDLE_TRAINERS_NUM"])
everybody = [place.rsplit(":", 1) for place in os.environ["PADDLE_TRAINER_ENDPOINTS"].split(",")]
assert len(everybody) == size and os.environ["PADDLE_CURRENT_ENDPOINT"] == ":".join(everybody[rank])
with socket.create_server((everybody[rank][0], int(everybody[rank][1]))) as server:
    right = everybody[(rank + 1) % size]
    deadline = time.monotonic() + 20
    while True:
        try:
            out = socket.create_connection((right[0], int(right[1])))
            break
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    left = server.accept()[0]
    total = value = rank + 1
    for _ in range(size - 1):
        out.sendall(value.to_bytes(4, "big"))
        value = int.from_bytes(left.recv(4, socket.MSG_WAITALL), "big")
        total += value
if rank == 0:
    with open("sums", "a") as sums:
        print(size, total, file=sums)
time.sleep(1000)
"""
"""Sums the ranks of all over a ring, and leaves a line for each crew that has come together."""


def amounts(cpu: int) -> dict[str, Any]:
    return {"amounts": {"amounts": {"cpu": cpu, "memory": 2**20}}}


async def two_queues(site: JobSite) -> None:
    """One that borrows all, and one that has a right to it."""
    whole = resources_pb2.Resources(amounts=WHOLE)
    both = f"both-{site.tag}"
    for queue in (
        queue_pb2.Queue(name=both, min=whole, max=whole),
        queue_pb2.Queue(name=f"low-{site.tag}", parent=both),
        queue_pb2.Queue(name=f"high-{site.tag}", parent=both, min=whole),
    ):
        queue.cluster = "default-cluster"
        await site.queues(queue_pb2.CreateQueueRequest(queue=queue))


async def create(site: JobSite, queue: str, **fields: Any) -> str:
    policy = spec_pb2.SchedulingPolicy(queue=f"{queue}-{site.tag}")
    spec = spec_pb2.JobSpec(scheduling_policy=policy, **fields)
    spec.limits.steady.FromMilliseconds(10)
    spec.limits.grace.FromSeconds(5)
    made: job_pb2.Job = (await site.root(job_pb2.CreateJobRequest(job=job_pb2.Job(spec=spec)))).job
    return made.id


async def trainers(site: JobSite, folder: Path, script: str, most: int = 9) -> str:
    """A job of a parameter server, and trainers that come and go."""
    members = [
        spec_pb2.Member(role=spec_pb2.ROLE_PSERVER, replicas=1, command="sleep 1000"),
        spec_pb2.Member(role=spec_pb2.ROLE_WORKER, replicas=2, max_replicas=most, command=NOTE + script),
    ]
    return await elastic(site, folder, members)


async def elastic(site: JobSite, folder: Path, members: Sequence[spec_pb2.Member], **fields: Any) -> str:
    folder.chmod(0o777)
    draft = fs_pb2.Filesystem(name=f"data-{site.tag}", url=f"local://{folder}")
    await site.filesystems(fs_pb2.CreateFilesystemRequest(filesystem=draft))
    files = spec_pb2.FilesystemMount(name=draft.name)
    kind = spec_pb2.FRAMEWORK_PADDLE
    return await create(site, "low", framework=kind, members=members, flavour=amounts(CPU), fs=files, **fields)


async def guaranteed(site: JobSite, replicas: int) -> str:
    """A job that takes back what so many replicas of the other one borrow."""
    return await create(site, "high", command="sleep 1000", flavour=amounts(replicas * CPU))


async def get(site: JobSite, id_: str) -> job_pb2.Job:
    found: job_pb2.Job = (await site.root(job_pb2.GetJobRequest(id=id_))).job
    return found


async def tasks(site: JobSite, id_: str) -> Sequence[job_pb2.Task]:
    found: Sequence[job_pb2.Task] = (await site.root(job_pb2.ListTasksRequest(id=id_))).tasks
    return found


async def until_runs(site: JobSite, id_: str, workers: int) -> Sequence[job_pb2.Task]:
    """The trainers that run, as soon as they are so many and are to be."""

    async def there() -> Sequence[job_pb2.Task]:
        job = await get(site, id_)
        assert job.state in (job_pb2.JOB_STATE_INIT, job_pb2.JOB_STATE_PENDING, job_pb2.JOB_STATE_RUNNING), job
        found = [each for each in await tasks(site, id_) if each.role == spec_pb2.ROLE_WORKER]
        live = [each for each in found if each.state == RUNNING]
        stopping = any(each.state == job_pb2.TASK_STATE_STOPPING for each in found)
        wanted = {role.role: role.replicas for role in job.roles}[spec_pb2.ROLE_WORKER]
        return live if len(live) == wanted == workers and not stopping else []

    return await eventually(there, PATIENCE)


async def until_holds(site: JobSite, id_: str, workers: int) -> None:
    """Waits until so many trainers are charged."""
    key = workload_pb2.WorkloadKey(job_id=id_, attempt=1)

    async def there() -> bool:
        found: workload_pb2.Workload = (await site.queues(admission_pb2.GetWorkloadRequest(key=key))).workload
        return any(role.role == "worker" and role.base + role.surplus == workers for role in found.admitted.roles)

    await eventually(there, PATIENCE)


async def stop(site: JobSite, *ids: str) -> None:
    for id_ in ids:
        await site.root(job_pb2.StopJobRequest(id=id_, now=True))

    async def over() -> bool:
        states = [(await get(site, id_)).state for id_ in ids]
        return all(state == job_pb2.JOB_STATE_TERMINATED for state in states)

    await eventually(over, PATIENCE)


async def until_started(folder: Path, times: int) -> None:
    """Whoever runs may not have written yet that it does."""
    file = folder / "starts"
    await until(lambda: file.exists() and len(file.read_text().split()) == times)


async def what(site: JobSite, id_: str) -> list[str]:
    reply = await site.root(job_pb2.ListHappeningsRequest(id=id_, page_size=1000))
    return [f"{each.what} {each.message}" for each in reply.happenings if each.what in ("grown", "shrunk")]


async def test_a_job_borrows_and_gives_back_in_place_and_borrows_again(job_site: JobSite, tmp_path: Path) -> None:
    await two_queues(job_site)
    job = await trainers(job_site, tmp_path, "sleep 1000")
    await until_runs(job_site, job, 9)
    await until_started(tmp_path, 9)
    other = await guaranteed(job_site, 5)
    left = await until_runs(job_site, job, 4)
    await until_holds(job_site, job, 4)
    workers = next(role for role in (await get(job_site, job)).roles if role.role == spec_pb2.ROLE_WORKER)
    assert (workers.replicas, workers.running, workers.failed) == (4, 4, 0), "who was given back is no loss"
    assert [(task.index, task.restarts) for task in left] == [(index, 0) for index in range(4)]
    stopped = [task.index for task in await tasks(job_site, job) if task.state == STOPPED]
    assert stopped == [4, 5, 6, 7, 8]
    await stop(job_site, other)
    again = await until_runs(job_site, job, 9)
    assert [task.restarts for task in again] == [0] * 4 + [1] * 5
    await until_started(tmp_path, 14)
    starts = Counter((tmp_path / "starts").read_text().split())
    assert starts == {str(index): 1 if index < 4 else 2 for index in range(9)}
    told = [line for line in await what(job_site, job) if line.startswith("shrunk")]
    assert told == [f"shrunk worker from 9 to 4: the room is needed ({other})"]
    assert (await get(job_site, job)).attempt == 1
    await stop(job_site, job)


async def test_a_trainer_that_is_killed_is_replaced_and_the_others_run_on(job_site: JobSite, tmp_path: Path) -> None:
    await two_queues(job_site)
    job = await trainers(job_site, tmp_path, DIES, most=4)
    await until_runs(job_site, job, 4)
    await until_started(tmp_path, 4)
    (tmp_path / "die").touch()

    async def replaced() -> Sequence[job_pb2.Task]:
        found = await tasks(job_site, job)
        again = [each for each in found if each.restarts == 1 and each.state == RUNNING]
        return again if any(each.state in LOST_OR_FAILED for each in found) else []

    (again,) = await eventually(replaced, PATIENCE)
    killed = [task for task in await tasks(job_site, job) if task.state in LOST_OR_FAILED]
    assert [(task.index, task.signal) for task in killed] == [(again.index, 9)]
    await until_started(tmp_path, 5)
    await stop(job_site, job)


async def test_a_collective_comes_together_anew_with_each_number_of_trainers(job_site: JobSite, tmp_path: Path) -> None:
    await two_queues(job_site)
    worker = spec_pb2.Member(role=spec_pb2.ROLE_WORKER, replicas=2, max_replicas=6, args=["python3", "-c", ALL_REDUCE])
    blocker = await guaranteed(job_site, 7)
    job = await elastic(job_site, tmp_path, [worker])

    async def sums() -> list[str]:
        return (tmp_path / "sums").read_text().splitlines() if (tmp_path / "sums").exists() else []

    async def until_sum(line: str) -> None:
        async def there() -> bool:
            return (await sums())[-1:] == [line]

        try:
            await eventually(there, PATIENCE)
        except AssertionError:
            pytest.fail(f"{await sums()} {await tasks(job_site, job)} {job_site.process.log[-3000:]}")

    await until_sum("3 6")
    await stop(job_site, blocker)
    await until_sum("6 21")
    blocker = await guaranteed(job_site, 8)
    await until_sum("2 3")
    await until_holds(job_site, job, 2)
    assert [task.index for task in await until_runs(job_site, job, 2)] == [0, 1]
    assert (await get(job_site, job)).attempt == 1
    await stop(job_site, job, blocker)


async def test_replicas_that_cannot_come_and_go_are_refused_each_with_its_place(job_site: JobSite) -> None:
    server = spec_pb2.Member(role=spec_pb2.ROLE_PSERVER, replicas=1, max_replicas=2)
    worker = spec_pb2.Member(role=spec_pb2.ROLE_WORKER, replicas=2, max_replicas=4, replica_step=3)
    spec = spec_pb2.JobSpec(framework=spec_pb2.FRAMEWORK_PADDLE, command="true", members=[server, worker])
    with pytest.raises(InvalidArgument) as refused:
        await job_site.root(job_pb2.CreateJobRequest(job=job_pb2.Job(spec=spec)))
    told = {violation.field: violation.description for violation in refused.value.violations}
    assert told == {
        "members[0].maxReplicas": "replicas of a pserver cannot come and go while a paddle job runs: leave it out",
        "members[1].replicaStep": "is more than lies between replicas and maxReplicas: it would never grow",
    }


async def test_the_job_service_may_be_away_while_its_queue_takes_back(job_site: JobSite, tmp_path: Path) -> None:
    await two_queues(job_site)
    job = await trainers(job_site, tmp_path, "sleep 1000", most=5)
    await until_runs(job_site, job, 5)
    await until_started(tmp_path, 5)
    site = job_site.process
    site.kill()
    try:
        await asyncio.to_thread(site.start)
        other = await guaranteed(job_site, 6)
        site.kill()
    finally:
        await asyncio.to_thread(site.start)
    left = await until_runs(job_site, job, 3)
    assert [(task.index, task.restarts) for task in left] == [(0, 0), (1, 0), (2, 0)]
    await until_holds(job_site, job, 3)
    await until_started(tmp_path, 5)
    assert Counter((tmp_path / "starts").read_text().split()) == {str(index): 1 for index in range(5)}
    await stop(job_site, job, other)
