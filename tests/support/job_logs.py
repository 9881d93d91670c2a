"""Jobs that write, and what is read of them."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from fixtures_jobs import JobSite
from paddleflow.common.v1.resources_pb2 import Resources
from paddleflow.job.v1 import job_pb2, log_pb2, spec_pb2
from pf_job.runtimes.local import layout
from support.callers import Caller

PATIENCE = 30.0
SMALL = spec_pb2.Flavour(amounts=Resources(amounts={"cpu": 100, "memory": 2**20}))
"""Little enough that several fit on a test machine."""


async def create(site: JobSite, command: str, **fields: Any) -> str:
    """The id of a new job."""
    job = job_pb2.Job(spec=spec_pb2.JobSpec(command=command, flavour=SMALL, **fields))
    made: job_pb2.Job = (await site.root(job_pb2.CreateJobRequest(job=job))).job
    return made.id


async def over(site: JobSite, id_: str) -> str:
    """Waits until a job is over."""
    deadline = time.monotonic() + PATIENCE
    while not (job := (await site.root(job_pb2.GetJobRequest(id=id_))).job).HasField("finish_time"):
        assert time.monotonic() < deadline, f"{job}\n{site.process.log}"
        await asyncio.sleep(0.01)
    return id_


async def wrote(site: JobSite, command: str, **fields: Any) -> str:
    """The id of a job that is over."""
    return await over(site, await create(site, command, **fields))


async def running(site: JobSite, id_: str) -> None:
    """Waits until a job runs."""
    deadline = time.monotonic() + PATIENCE
    while (job := (await site.root(job_pb2.GetJobRequest(id=id_))).job).state != job_pb2.JOB_STATE_RUNNING:
        assert time.monotonic() < deadline, f"{job}\n{site.process.log}"
        await asyncio.sleep(0.01)


def ask(id_: str, **fields: Any) -> log_pb2.ReadLogRequest:
    """A request for logs; what says which logs may stand beside all else."""
    names = log_pb2.LogChoice.DESCRIPTOR.fields_by_name
    choice = {name: fields.pop(name) for name in tuple(fields) if name in names}
    return log_pb2.ReadLogRequest(choice=log_pb2.LogChoice(id=id_, **choice), **fields)


async def chunks(caller: Caller, id_: str, **fields: Any) -> list[log_pb2.ReadLogResponse]:
    return [chunk async for chunk in caller.watch(ask(id_, **fields))]


async def read(caller: Caller, id_: str, **fields: Any) -> bytes:
    return b"".join(chunk.data for chunk in await chunks(caller, id_, **fields))


def file_of(site: JobSite, id_: str, replica: str = "1/main-0-0") -> Path:
    """The log of a replica, where the runtime keeps it."""
    return site.process.folder / "replicas" / layout.folder_of(f"{id_}/{replica}") / layout.LOG
