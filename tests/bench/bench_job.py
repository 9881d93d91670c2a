"""How fast jobs run on this machine, from the request to the end of their processes: `make bench-job`."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import psutil

from bench.report import Parts, run
from fixtures_jobs import METHODS
from fixtures_queue import own_service
from paddleflow.channel import open_channel
from paddleflow.job.v1 import job_pb2, spec_pb2
from paddleflow.queue.v1 import queue_pb2
from support.callers import Caller
from support.figures import Figure, percentile
from support.fs_process import FsProcess
from support.job_process import JobProcess
from support.queue_process import ROOT_PASSWORD
from support.servers import PostgresServer, ValkeyServer

ALONE = 100
"""Jobs one after the other."""
MANY = 1_000
BATCH = 100
PENDING = 10_000
PAGES = 100
IDLE_SECONDS = 20.0
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

    async def until_over(self, patience: float = PATIENCE) -> None:
        deadline = time.monotonic() + patience
        while (await self.jobs(job_pb2.ListJobsRequest(states=WAITING, page_size=1))).jobs:
            assert time.monotonic() < deadline, self.process.log
            await asyncio.sleep(0.05)

    def processor_seconds(self) -> float:
        """Used by all of the stack so far."""
        return sum(sum(process.cpu_times()[:2]) for process in self._processes())

    def memory(self) -> float:
        """Of the job service and its runner, in MiB, what is shared counted once for all."""
        mine = [process for process in self._processes() if "pf_job" in " ".join(process.cmdline())]
        return float(sum(process.memory_full_info().pss for process in mine)) / 2**20

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


@contextmanager
def services() -> Iterator[JobProcess]:
    """A stack of its own, whose Postgres survives a crash of the machine."""
    postgres, valkey = PostgresServer(durable=True), ValkeyServer()
    postgres.start()
    valkey.start()
    with own_service(postgres, valkey) as queue:
        fs = FsProcess(queue)
        fs.start()
        process = JobProcess(queue, fs)
        process.start()
        yield process
        process.remove()
        fs.remove()
    postgres.remove()
    valkey.remove()


@asynccontextmanager
async def called(process: JobProcess) -> AsyncIterator[Site]:
    """The stack, as root calls it."""
    secret = process.queue.log_in("root", ROOT_PASSWORD)
    async with open_channel(process.address, None) as jobs, open_channel(process.queue.address, None) as queues:
        yield Site(process, Caller(jobs, secret, "", METHODS), Caller(queues, secret))


async def alone(stack: Site) -> list[Figure]:
    """Jobs one after the other on an idle stack."""
    waits: list[float] = []
    for _ in range(ALONE):
        made = await stack.create("true")
        await stack.until_over()
        over: job_pb2.Job = (await stack.jobs(job_pb2.GetJobRequest(id=made.id))).job
        waits.append((over.start_time.ToMicroseconds() - over.accept_time.ToMicroseconds()) / 1000)
    idle = stack.processor_seconds()
    await asyncio.sleep(IDLE_SECONDS)
    idle = (stack.processor_seconds() - idle) / IDLE_SECONDS * 100
    return [
        Figure("submit to running, idle, p50", percentile(waits, 0.5), "ms", at_most=25.0),
        Figure("submit to running, idle, p99", percentile(waits, 0.99), "ms", at_most=250.0),
        Figure("idle stack, of a core", idle, "%", at_most=2.0),
    ]


async def together(stack: Site) -> list[Figure]:
    """Many that do nothing, beside what it costs to spawn as many."""
    spawned = spawn()
    begun = time.perf_counter()
    for _ in range(MANY // BATCH):
        await stack.jobs(job_pb2.CreateJobsRequest(jobs=[job("true")] * BATCH))
    accepted = MANY / (time.perf_counter() - begun)
    await stack.until_over()
    finished = MANY / (time.perf_counter() - begun)
    memory = stack.memory()
    return [
        Figure("accepted submits", accepted, "1/s", at_least=500.0),
        Figure("1,000 jobs that do nothing, submitted to over", finished, "1/s", spawned, at_least=50.0),
        Figure("memory of job service and runner after them", memory, "MiB"),
    ]


async def listing(stack: Site) -> list[Figure]:
    """Pages of a list while many wait."""
    await stack.queues(queue_pb2.HoldQueueRequest(name="default-queue"))
    for _ in range(PENDING // BATCH):
        await stack.jobs(job_pb2.CreateJobsRequest(jobs=[job("true")] * BATCH))
    times: list[float] = []
    token = ""
    for _ in range(PAGES):
        begun = time.perf_counter()
        page = await stack.jobs(job_pb2.ListJobsRequest(page_size=50, page_token=token))
        times.append((time.perf_counter() - begun) * 1000)
        token = page.next_page_token
    return [Figure("page of 50 jobs, 10,000 wait, p99", percentile(times, 0.99), "ms", at_most=50.0)]


def spawn() -> float:
    """Processes a second that `xargs` starts and sees end, as many at once as the machine has cores."""
    begun = time.perf_counter()
    subprocess.run(["xargs", "-P", "2", "-I{}", "true"], input="\n".join(map(str, range(MANY))), text=True, check=True)
    return MANY / (time.perf_counter() - begun)


def of(part: Callable[[Site], Awaitable[list[Figure]]]) -> Callable[[], list[Figure]]:
    async def measured(process: JobProcess) -> list[Figure]:
        async with called(process) as stack:
            return await part(stack)

    def figures() -> list[Figure]:
        with services() as process:
            return asyncio.run(measured(process))

    return figures


PARTS: Parts = {"alone": of(alone), "together": of(together), "listing": of(listing)}

if __name__ == "__main__":
    sys.exit(run("job", "Jobs on this machine", PARTS, sys.argv[1:]))
