"""The stack that jobs are measured on, and how to call it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import psutil

from fixtures_jobs import METHODS, own_jobs
from paddleflow.channel import open_channel
from paddleflow.job.v1 import job_pb2, spec_pb2
from support.callers import Caller
from support.figures import Figure
from support.job_process import JobProcess
from support.queue_process import ROOT_PASSWORD
from support.servers import PostgresServer, ValkeyServer

BATCH = 100
"""Jobs in one request."""
PATIENCE = 300.0
WAITING = (job_pb2.JOB_STATE_INIT, job_pb2.JOB_STATE_PENDING, job_pb2.JOB_STATE_RUNNING)


class Site:
    """The services of the measurement, as root calls them."""

    def __init__(self, process: JobProcess, jobs: Caller, queues: Caller) -> None:
        self.process = process
        self.jobs = jobs
        self.queues = queues

    async def create(self, command: str, **fields: Any) -> job_pb2.Job:
        made: job_pb2.Job = (await self.jobs(job_pb2.CreateJobRequest(job=job(command, **fields)))).job
        return made

    async def create_many(self, count: int) -> None:
        """Jobs that do nothing."""
        for _ in range(count // BATCH):
            await self.jobs(job_pb2.CreateJobsRequest(jobs=[job("true")] * BATCH))

    async def until_over(self) -> None:
        await self.until_none(WAITING)

    async def until_none(self, states: Sequence[job_pb2.JobState.ValueType]) -> None:
        """Waits until no job is in any of these states."""
        deadline = time.monotonic() + PATIENCE
        while (await self.jobs(job_pb2.ListJobsRequest(states=states, page_size=1))).jobs:
            assert time.monotonic() < deadline, self.process.log
            await asyncio.sleep(0.05)

    async def wait_to_run(self) -> float:
        """Milliseconds that a job waits on an idle stack from its acceptance until it runs."""
        made = await self.create("true")
        await self.until_over()
        over: job_pb2.Job = (await self.jobs(job_pb2.GetJobRequest(id=made.id))).job
        return (over.start_time.ToMicroseconds() - over.accept_time.ToMicroseconds()) / 1000

    async def load(self, seconds: float) -> float:
        """What all of the stack uses meanwhile, in hundredths of a core."""
        before = self._processor_seconds()
        await asyncio.sleep(seconds)
        return (self._processor_seconds() - before) / seconds * 100

    def memory(self) -> float:
        """Of all of the stack, in MiB, what processes share counted once for all."""
        return float(sum(process.memory_full_info().pss for process in self._processes())) / 2**20

    def _processor_seconds(self) -> float:
        return sum(sum(process.cpu_times()[:2]) for process in self._processes())

    def _processes(self) -> Sequence[psutil.Process]:
        """Those of the stack; the runner has left the family."""
        folder = str(self.process.folder)
        runners = [each for each in psutil.process_iter() if folder in _command(each)]
        return [*psutil.Process().children(recursive=True), *runners]


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def job(command: str, **fields: Any) -> job_pb2.Job:
    """Asks for so little that nobody waits for room."""
    little: Any = {"amounts": {"amounts": {"cpu": 1, "memory": 2**20}}}
    spec = spec_pb2.JobSpec(command=command, flavour=little, **fields)
    return job_pb2.Job(spec=spec)


def of(part: Callable[[Site], Awaitable[list[Figure]]]) -> Callable[[], list[Figure]]:
    """The same, on a stack of its own."""

    async def measured(process: JobProcess) -> list[Figure]:
        async with _called(process) as stack:
            return await part(stack)

    def figures() -> list[Figure]:
        with _services() as process:
            return asyncio.run(measured(process))

    return figures


@contextmanager
def _services() -> Iterator[JobProcess]:
    """A stack of its own, whose Postgres survives a crash of the machine."""
    postgres, valkey = PostgresServer(durable=True), ValkeyServer()
    postgres.start()
    valkey.start()
    with own_jobs(postgres, valkey) as process:
        yield process
    postgres.remove()
    valkey.remove()


@asynccontextmanager
async def _called(process: JobProcess) -> AsyncIterator[Site]:
    """The stack, as root calls it."""
    secret = process.queue.log_in("root", ROOT_PASSWORD)
    async with open_channel(process.address, None) as jobs, open_channel(process.queue.address, None) as queues:
        yield Site(process, Caller(jobs, secret, "", METHODS), Caller(queues, secret))
