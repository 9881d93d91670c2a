"""A job whose replica told its token, and waits: what it would call, a test calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from fixtures_jobs import METHODS, JobSite
from paddleflow.channel import open_channel
from paddleflow.job.v1 import job_pb2, log_pb2, shard_pb2, spec_pb2
from support.callers import Caller

PATIENCE = 30.0
TELL = 'echo "$PF_JOB_TOKEN $PF_JOB_ENDPOINT $PF_JOB_NAMESPACE ${PF_JOB_CA-none}"; sleep 1000'


@dataclass(frozen=True)
class Replica:
    """What it told, and how it calls."""

    job: str
    token: str
    endpoint: str
    namespace: str
    ca: str
    call: Caller

    async def open(self, name: str = "d", **fields: Any) -> shard_pb2.Dataset:
        given = {"total": 10, "size": 4, **fields}
        request = shard_pb2.OpenDatasetRequest(dataset=shard_pb2.Dataset(name=name, **given))
        dataset: shard_pb2.Dataset = (await self.call(request)).dataset
        return dataset

    async def lease(self, name: str = "d", **fields: Any) -> shard_pb2.LeaseShardResponse:
        reply: shard_pb2.LeaseShardResponse = await self.call(shard_pb2.LeaseShardRequest(dataset=name, **fields))
        return reply

    async def dataset(self, name: str = "d") -> shard_pb2.Dataset:
        dataset: shard_pb2.Dataset = (await self.call(shard_pb2.GetDatasetRequest(name=name))).dataset
        return dataset


@asynccontextmanager
async def waiting_replica(site: JobSite) -> AsyncIterator[Replica]:
    spec = spec_pb2.JobSpec(command=TELL)
    spec.flavour.amounts.amounts.update({"cpu": 100, "memory": 2**20})
    job = (await site.root(job_pb2.CreateJobRequest(job=job_pb2.Job(spec=spec)))).job.id
    token, endpoint, namespace, ca = await _told(site, job)
    async with open_channel(endpoint, None) as channel:
        yield Replica(job, token, endpoint, namespace, ca, Caller(channel, token, "", METHODS))
    await site.root(job_pb2.StopJobRequest(id=job, now=True))


async def _told(site: JobSite, job: str) -> list[str]:
    deadline = time.monotonic() + PATIENCE
    while True:
        assert time.monotonic() < deadline, site.process.log
        running = (await site.root(job_pb2.GetJobRequest(id=job))).job.state == job_pb2.JOB_STATE_RUNNING
        if running and (told := (await _log(site, job)).split()):
            return told
        await asyncio.sleep(0.02)


async def _log(site: JobSite, job: str) -> str:
    request = log_pb2.ReadLogRequest(choice=log_pb2.LogChoice(id=job))
    return b"".join([each.data async for each in site.root.watch(request)]).decode()
