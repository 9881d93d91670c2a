"""Logs of jobs that still run: followed to the end, over restarts and attempts, and gone on with after a break."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from dataclasses import replace

import psutil
import pytest

from fixtures_jobs import JobSite
from paddleflow.auth.v1 import auth_pb2
from paddleflow.common.v1.resources_pb2 import Resources
from paddleflow.job.v1 import job_pb2, log_pb2, spec_pb2
from paddleflow.problems import InvalidArgument, JobNotFound, ShuttingDown, TokenInvalid, TokenMissing, TooManyCalls
from paddleflow.queue.v1 import queue_pb2
from support.callers import Caller
from support.job_logs import ask, chunks, create, over, read, running, wrote
from support.job_process import JobProcess
from support.waiting import eventually

SOME = Resources(amounts={"cpu": 1000, "memory": 2**21})
PASSWORD = "password1"


async def test_a_running_job_is_followed_to_its_end(job_site: JobSite) -> None:
    made = await create(job_site, "echo begin; sleep 1; printf half; sleep 1; echo ' and half'; exit 3")
    told = await chunks(job_site.root, made, follow=True)
    assert [chunk.data for chunk in told] == [b"begin\n", b"half", b" and half\n", b""]
    assert told[-1].position.end
    assert await read(job_site.root, made, follow=True, tail_lines=1) == b"half and half\n"


async def test_a_job_is_followed_before_it_begins(job_site: JobSite) -> None:
    name = await held(job_site, "held")
    made = await create(job_site, "echo at last", scheduling_policy={"queue": name})
    following = asyncio.create_task(read(job_site.root, made, follow=True))
    assert (await job_site.root(job_pb2.GetJobRequest(id=made))).job.attempt == 1
    await job_site.queues(queue_pb2.OpenQueueRequest(name=name))
    assert await following == b"at last\n"


async def test_a_job_that_never_begins_is_followed_to_its_end(job_site: JobSite) -> None:
    made = await create(job_site, "true", scheduling_policy={"queue": await held(job_site, "never")})
    following = asyncio.create_task(chunks(job_site.root, made, follow=True, later=True))
    await job_site.root(job_pb2.StopJobRequest(id=made))
    assert await following == []


async def test_lines_are_told_at_once(job_site: JobSite) -> None:
    """From the write to the reader, less than a tenth of a second."""
    made = await create(job_site, "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.3; date +%s%N; done")
    await running(job_site, made)
    delays = []
    async for chunk in job_site.root.watch(ask(made, follow=True)):
        now = time.time_ns()
        delays += [(now - int(line)) / 1e9 for line in chunk.data.split()]
    assert sorted(delays)[len(delays) // 2] < 0.1, delays


async def test_a_broken_stream_goes_on_where_it_was(job_site: JobSite) -> None:
    members = [
        spec_pb2.Member(
            role=spec_pb2.ROLE_WORKER, replicas=2, command="for i in $(seq 40); do echo $i; sleep 0.05; done"
        )
    ]
    made = await create(job_site, "", framework=spec_pb2.FRAMEWORK_PADDLE, members=members)
    told = {0: b"", 1: b""}
    at: dict[int, log_pb2.LogPosition] = {}
    streams = 0
    while len(at) < 2 or not all(position.end for position in at.values()):
        streams += 1
        request = ask(made, follow=True, max_lines=39, positions=at.values())
        async with aclosing(job_site.root.watch(request)) as stream:
            for _ in range(5):
                chunk = await anext(stream, None)
                if chunk is None:
                    break
                told[chunk.position.replica.index] += chunk.data
                at[chunk.position.replica.index] = chunk.position
    assert streams > 3
    assert told == dict.fromkeys((0, 1), b"".join(b"%d\n" % n for n in range(1, 40)))


async def test_restarts_and_attempts_are_followed(job_site: JobSite) -> None:
    retry = spec_pb2.RetryPolicy(limit=1)
    retry.backoff.FromMilliseconds(10)
    env = {"PF_JOB_RESTART_POLICY": "OnFailure"}
    made = await create(job_site, "date +%N; exit 1", env=env, retry=retry)
    told = await chunks(job_site.root, made, follow=True, later=True)
    tasks = (await job_site.root(job_pb2.ListTasksRequest(id=made, attempt=-1))).tasks
    starts = [(task.attempt, task.restarts) for task in tasks]
    assert (1, 1) in starts
    assert (2, 0) in starts
    ended = [(chunk.position.replica.attempt, chunk.position.replica.restart) for chunk in told if chunk.position.end]
    assert sorted(ended) == starts
    first = await read(job_site.root, made, attempt=1, restart=0)
    assert b"".join(chunk.data for chunk in told).startswith(first)
    assert await read(job_site.root, made, follow=True, positions=[told[-1].position]) == b""
    last = [chunk.data for chunk in told if chunk.data][-1]
    assert await read(job_site.root, made) == last


async def test_a_server_that_stops_says_so(job_site: JobSite) -> None:
    made = await create(job_site, "echo begin; sleep 1000")
    await running(job_site, made)
    stream = job_site.root.watch(ask(made, follow=True))
    assert (await anext(stream)).data == b"begin\n"
    try:
        await asyncio.to_thread(job_site.process.stop)
        with pytest.raises(ShuttingDown):
            await anext(stream)
    finally:
        await asyncio.to_thread(job_site.process.start)
    await job_site.root(job_pb2.StopJobRequest(id=made, now=True))


async def test_more_than_a_hundred_logs_are_not_followed(job_site: JobSite) -> None:
    name = f"wide-{job_site.tag}"
    tiny = spec_pb2.Flavour(amounts=Resources(amounts={"cpu": 1, "memory": 2**20}))
    members = [spec_pb2.Member(role=spec_pb2.ROLE_WORKER, replicas=101, command="true", flavour=tiny)]
    made = await create(job_site, "", name=name, framework=spec_pb2.FRAMEWORK_PADDLE, members=members)
    with pytest.raises(InvalidArgument):
        await read(job_site.root, made, follow=True)
    await over(job_site, made)
    assert len([chunk for chunk in await chunks(job_site.root, made) if chunk.position.end]) == 101


async def test_others_read_only_what_they_may_see(job_site: JobSite) -> None:
    stranger, member = [await user(job_site, word) for word in ("stranger", "member")]
    name = f"ours-{job_site.tag}"
    queue = queue_pb2.Queue(name=name, cluster="default-cluster", max=SOME)
    await job_site.queues(queue_pb2.CreateQueueRequest(queue=queue))
    await job_site.queues(auth_pb2.CreateGrantRequest(grant=granted(member[0], name)))
    made = await wrote(job_site, "echo secret", scheduling_policy={"queue": name})
    assert await eventually(lambda: allowed(member[1], made)) == b"secret\n"
    for caller in (stranger[1], replace(job_site.root, secret=""), replace(job_site.root, secret="x")):
        with pytest.raises((JobNotFound, TokenMissing, TokenInvalid)):
            await read(caller, made)
        with pytest.raises((JobNotFound, TokenMissing, TokenInvalid)):
            await caller(log_pb2.GetLogInfoRequest(choice=ask(made).choice))


async def test_who_may_see_a_job_no_more_is_told_no_more(job_site: JobSite) -> None:
    name, member = f"lent-{job_site.tag}", await user(job_site, "guest")
    queue = queue_pb2.Queue(name=name, cluster="default-cluster", max=SOME)
    await job_site.queues(queue_pb2.CreateQueueRequest(queue=queue))
    await job_site.queues(auth_pb2.CreateGrantRequest(grant=granted(member[0], name)))
    made = await create(job_site, "echo begin; sleep 1000", scheduling_policy={"queue": name})
    await running(job_site, made)
    await eventually(lambda: allowed(member[1], made))
    stream = member[1].watch(ask(made, follow=True))
    assert (await anext(stream)).data == b"begin\n"
    await job_site.queues(auth_pb2.DeleteGrantRequest(grant=granted(member[0], name)))
    with pytest.raises(JobNotFound):
        await anext(stream)
    await job_site.root(job_pb2.StopJobRequest(id=made, now=True))


async def test_a_caller_has_so_many_streams_and_no_more(job_site: JobSite) -> None:
    made = await create(job_site, "echo begin; sleep 1000")
    await running(job_site, made)
    streams = [job_site.root.watch(ask(made, follow=True)) for _ in range(50)]
    try:
        assert {chunk.data for chunk in await asyncio.gather(*map(anext, streams))} == {b"begin\n"}
        with pytest.raises(TooManyCalls):
            await read(job_site.root, made)
    finally:
        for stream in streams:
            await stream.aclose()
    await job_site.root(job_pb2.StopJobRequest(id=made, now=True))


async def test_a_slow_reader_costs_no_memory(job_site: JobSite, job_process: JobProcess) -> None:
    made = await wrote(job_site, "head -c 200000000 /dev/zero")
    before = memory(job_process)
    async with aclosing(job_site.root.watch(ask(made))) as stream:
        await anext(stream)
        await asyncio.sleep(1)
        assert memory(job_process) - before < 30 * 2**20


def granted(user: str, queue: str) -> auth_pb2.Grant:
    return auth_pb2.Grant(user=user, kind=auth_pb2.RESOURCE_KIND_QUEUE, resource=queue)


def memory(process: JobProcess) -> int:
    """What the job service holds, in bytes."""
    return int(psutil.Process(process.pid).memory_info().rss)


async def allowed(caller: Caller, id_: str) -> bytes:
    """What a caller may read; nothing as long as it may not."""
    try:
        return await read(caller, id_)
    except JobNotFound:
        return b""


async def held(site: JobSite, word: str) -> str:
    """The name of a queue in which jobs wait."""
    queue = queue_pb2.Queue(name=f"{word}-{site.tag}", cluster="default-cluster", max=SOME)
    await site.queues(queue_pb2.CreateQueueRequest(queue=queue))
    await site.queues(queue_pb2.HoldQueueRequest(name=queue.name))
    return queue.name


async def user(site: JobSite, word: str) -> tuple[str, Caller]:
    name = f"{word}{site.tag}"
    await site.queues(auth_pb2.CreateUserRequest(user=auth_pb2.User(name=name), password=PASSWORD))
    return name, replace(site.root, secret=site.process.queue.log_in(name, PASSWORD))
