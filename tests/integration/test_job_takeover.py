"""Of two instances of the job service one drives jobs, and the other one goes on when it dies or stands still."""

from __future__ import annotations

import asyncio
import signal
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from fixtures_jobs import FS_METHODS, METHODS, own_jobs
from paddleflow.channel import open_channel
from paddleflow.fs.v1 import fs_pb2
from paddleflow.job.v1 import job_pb2, spec_pb2
from support.callers import Caller
from support.job_logs import SMALL, ask
from support.job_process import JobProcess
from support.queue_process import ROOT_PASSWORD
from support.servers import PostgresServer, ValkeyServer, short_folder
from support.waiting import eventually

OVER = (job_pb2.JOB_STATE_SUCCEEDED, job_pb2.JOB_STATE_FAILED, job_pb2.JOB_STATE_TERMINATED)
PATIENCE = 20.0
MARK = "/marks"
"""Where a replica leaves a line for each time that it was started."""


@dataclass(frozen=True)
class Pair:
    """Two instances over one database and one folder of replicas."""

    processes: Sequence[JobProcess]
    callers: Sequence[Caller]
    marks: Path
    tag: str = field(default_factory=lambda: uuid.uuid4().hex[:8])

    async def leader(self) -> int | None:
        """Who drives; None as long as nobody does."""
        connection = await asyncpg.connect(self.processes[0].queue.dsn)
        try:
            address = await connection.fetchval(
                "select address from job.leases where name = 'driving' and expires > clock_timestamp()"
            )
        finally:
            await connection.close()
        return next((at for at, each in enumerate(self.processes) if each.address == address), None)

    async def until_led(self) -> int:
        async def led() -> tuple[int] | None:
            leader = await self.leader()
            return None if leader is None else (leader,)

        return (await eventually(led, PATIENCE))[0]

    async def until_led_by(self, at: int) -> None:
        async def led() -> bool:
            return await self.leader() == at

        await eventually(led, PATIENCE)

    async def create(self, at: int, script: str, **fields: Any) -> str:
        """The id of a job that was made by one of the two."""
        id_ = f"j-{uuid.uuid4().hex[:12]}"
        spec = spec_pb2.JobSpec(id=id_, command=f"echo started >> {MARK}/{id_}; {script}", flavour=SMALL, **fields)
        spec.fs.name, spec.fs.mount_path = f"marks-{self.tag}", MARK
        await self.callers[at](job_pb2.CreateJobRequest(job=job_pb2.Job(spec=spec)))
        return id_

    async def some(self, at: int) -> Sequence[str]:
        """Jobs that end well, one that fails twice, and one that goes on until it is stopped."""
        retry = spec_pb2.RetryPolicy(limit=1)
        retry.backoff.FromMilliseconds(10)
        return [
            *[await self.create(at, f"sleep {seconds}") for seconds in (0, 0.3, 1, 2)],
            await self.create(at, "sleep 0.5; exit 3", retry=retry),
            await self.create(at, "sleep 1000"),
        ]

    async def get(self, at: int, id_: str) -> job_pb2.Job:
        job: job_pb2.Job = (await self.callers[at](job_pb2.GetJobRequest(id=id_))).job
        return job

    async def until_running(self, at: int, id_: str) -> None:
        async def runs() -> bool:
            return (await self.get(at, id_)).state == job_pb2.JOB_STATE_RUNNING

        await eventually(runs, PATIENCE)

    async def tasks(self, at: int, id_: str) -> Sequence[job_pb2.Task]:
        tasks: Sequence[job_pb2.Task] = (await self.callers[at](job_pb2.ListTasksRequest(id=id_, attempt=-1))).tasks
        return tasks

    async def require_each_once(self, at: int, ids: Sequence[str]) -> None:
        """All are over as they should be, the last one when it is stopped; each attempt was started once."""
        await self.until_running(at, ids[-1])
        await self.callers[at](job_pb2.StopJobRequest(id=ids[-1], now=True))
        states = []
        for id_ in ids:

            async def over(id_: str = id_) -> job_pb2.Job | None:
                job = await self.get(at, id_)
                return job if job.state in OVER else None

            states.append((await eventually(over, PATIENCE)).state)
            lines = (self.marks / id_).read_text().splitlines()
            assert len(lines) == len(await self.tasks(at, id_)), f"{id_} was started {len(lines)} times"
        succeeded, failed, terminated = OVER
        assert states == [succeeded] * 4 + [failed, terminated]


@pytest.fixture(scope="module")
def processes(postgres_server: PostgresServer, valkey_server: ValkeyServer) -> Iterator[Sequence[JobProcess]]:
    with own_jobs(postgres_server, valkey_server) as first:
        shared = {"PF_JOB_LOCAL_FOLDER": str(first.folder / "replicas")}
        second = JobProcess(first.queue, first.fs, shared)
        second.start()
        yield first, second
        second.remove()


@pytest.fixture
async def pair(processes: Sequence[JobProcess]) -> AsyncIterator[Pair]:
    secret, marks = processes[0].queue.log_in("root", ROOT_PASSWORD), short_folder()
    marks.chmod(0o777)
    async with AsyncExitStack() as inside:
        channels = [await inside.enter_async_context(open_channel(each.address, None)) for each in processes]
        files = await inside.enter_async_context(open_channel(processes[0].fs.address, None))
        pair = Pair(processes, [Caller(channel, secret, "", METHODS) for channel in channels], marks)
        draft = fs_pb2.Filesystem(name=f"marks-{pair.tag}", url=f"local://{marks}")
        await Caller(files, secret, "", FS_METHODS)(fs_pb2.CreateFilesystemRequest(filesystem=draft))
        yield pair


async def test_the_other_one_goes_on_when_the_leader_dies(pair: Pair) -> None:
    leader = await pair.until_led()
    heir = 1 - leader
    ids = await pair.some(heir)
    await pair.until_running(heir, ids[-1])
    await asyncio.to_thread(pair.processes[leader].kill)
    more = await pair.some(heir)
    await pair.until_led_by(heir)
    for made in (ids, more):
        await pair.require_each_once(heir, made)
    await asyncio.to_thread(pair.processes[leader].start)
    await pair.until_running(leader, await pair.create(leader, "sleep 2"))


async def test_a_leader_that_stood_still_does_nothing_that_another_one_has_done(pair: Pair) -> None:
    leader = await pair.until_led()
    heir = 1 - leader
    ids = await pair.some(heir)
    await pair.until_running(heir, ids[-1])
    pair.processes[leader].send(signal.SIGSTOP)
    try:
        more = await pair.some(heir)
        await pair.until_led_by(heir)
        await pair.until_running(heir, more[-1])
    finally:
        pair.processes[leader].send(signal.SIGCONT)
    last = await pair.some(leader)
    for made in (ids, more, last):
        await pair.require_each_once(leader, made)
    assert await pair.leader() == heir


async def test_both_tell_of_replicas_and_their_logs_whoever_drives(pair: Pair) -> None:
    leader = await pair.until_led()
    made = await pair.create(leader, "for i in 1 2 3; do echo $i; sleep 0.5; done")
    streams = [read_all(caller, made) for caller in pair.callers]
    assert await asyncio.gather(*streams) == [b"1\n2\n3\n"] * 2
    await asyncio.to_thread(pair.processes[leader].kill)
    heir = 1 - leader
    (task,) = await pair.tasks(heir, made)
    assert task.exit_status == 0
    assert await read_all(pair.callers[heir], made) == b"1\n2\n3\n"
    await asyncio.to_thread(pair.processes[leader].start)


async def read_all(caller: Caller, id_: str) -> bytes:
    return b"".join([chunk.data async for chunk in caller.watch(ask(id_, follow=True))])
