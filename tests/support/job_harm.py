"""Jobs that do harm, and what must be as before when they are over."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from fixtures_jobs import JobSite
from paddleflow.job.v1 import job_pb2
from paddleflow.queue.v1 import admission_pb2
from support.job_logs import create, over, read, wrote
from support.walking import below

PATIENCE = 30.0
NEIGHBOUR = 10.0
"""Seconds in which a job of somebody else runs meanwhile, also on a busy machine; it takes a tenth of one."""


@dataclass(frozen=True)
class Machine:
    """What a job could leave on it."""

    mounts: frozenset[str]
    processes: frozenset[int]
    """The runner, and all below it."""
    groups: frozenset[str]
    """What is in control groups of replicas."""
    temporary: frozenset[str]
    """What lies in folders for temporary files."""


def machine(site: JobSite) -> Machine:
    data = site.process.folder / "replicas"
    name = f"paddleflow-{data.stat().st_ino:x}"
    return Machine(
        mounts=frozenset(line for line in Path("/proc/mounts").read_text().splitlines() if str(data) in line),
        processes=frozenset(_runner_and_below(str(data))),
        groups=frozenset(str(path) for path in below(Path("/sys/fs/cgroup")) if path.parent.name == name),
        temporary=frozenset(str(path) for path in below(data / "tmp") if path.parent.parent == data / "tmp"),
    )


@asynccontextmanager
async def unharmed(site: JobSite) -> AsyncIterator[None]:
    """What is done meanwhile leaves nothing behind, holds nothing, and harms nobody."""
    # The runner is there from the first job on.
    await wrote(site, "true")
    before = machine(site)
    yield
    deadline = time.monotonic() + PATIENCE
    while (after := machine(site)) != before or await held(site):
        assert time.monotonic() < deadline, (before, after, await held(site))
        await asyncio.sleep(0.02)
    await neighbour(site)


async def neighbour(site: JobSite) -> None:
    """A job of somebody else runs as always."""
    begun = time.monotonic()
    assert await read(site.root, await wrote(site, "echo fine")) == b"fine\n"
    assert time.monotonic() - begun < NEIGHBOUR


async def held(site: JobSite) -> dict[str, int]:
    """What is held of any queue."""
    loads = (await site.queues(admission_pb2.ListLoadsRequest())).loads
    return {load.queue: amount for load in loads for amount in load.used.amounts.values() if amount}


async def ended(site: JobSite, command: str, **fields: object) -> job_pb2.Job:
    """A job that is over."""
    return await found(site, await over(site, await create(site, command, **fields)))


async def found(site: JobSite, id_: str) -> job_pb2.Job:
    job: job_pb2.Job = (await site.root(job_pb2.GetJobRequest(id=id_))).job
    return job


def marked(word: str) -> list[int]:
    """The processes that have a word among their arguments."""
    return [process.pid for process in psutil.process_iter(["cmdline"]) if word in (process.info["cmdline"] or [])]


def _runner_and_below(folder: str) -> Iterator[int]:
    for process in psutil.process_iter(["cmdline"]):
        if folder in (process.info["cmdline"] or []):
            yield process.pid
