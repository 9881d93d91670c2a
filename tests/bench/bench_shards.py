"""How fast trainers get their data, shard by shard: `make bench-shards`."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence

from bench.bench_job_site import PATIENCE, Site, job, of
from bench.report import Parts, run
from fixtures_jobs import METHODS
from paddleflow.channel import open_channel
from paddleflow.job.v1 import job_pb2, log_pb2, shard_pb2
from support.callers import Caller
from support.figures import Figure, percentile

SECONDS = 5.0
"""Each measurement lasts so long."""
TRAINERS = 16
MANY = 64
MOST = 1_000_000
ITEMS = 100_000


async def token(stack: Site) -> str:
    """The token of a job that waits for ever."""
    made = await stack.jobs(job_pb2.CreateJobRequest(job=job('echo "$PF_JOB_TOKEN"; sleep 100000')))
    ask = log_pb2.ReadLogRequest(choice=log_pb2.LogChoice(id=made.job.id))
    deadline = time.monotonic() + PATIENCE
    while True:
        assert time.monotonic() < deadline, stack.process.log
        state = (await stack.jobs(job_pb2.GetJobRequest(id=made.job.id))).job.state
        if state == job_pb2.JOB_STATE_RUNNING:
            told = b"".join([part.data async for part in stack.jobs.watch(ask)]).decode()
            if told.strip():
                return told.strip()
        await asyncio.sleep(0.05)


async def train(call: Caller, dataset: str, until: float) -> Sequence[float]:
    """Leases shards and finishes them, one after the other; milliseconds that each took."""
    times: list[float] = []
    done: shard_pb2.ShardLease | None = None
    while (begun := time.perf_counter()) < until:
        done = (await call(shard_pb2.LeaseShardRequest(dataset=dataset, finished=done))).shard.lease
        times.append((time.perf_counter() - begun) * 1000)
    if done is not None:
        await call(shard_pb2.FinishShardRequest(lease=done))
    return times


async def together(call: Caller, dataset: str, trainers: int) -> Sequence[float]:
    until = time.perf_counter() + SECONDS
    found = await asyncio.gather(*(train(call, dataset, until) for _ in range(trainers)))
    return [each for times in found for each in times]


async def opened(call: Caller, name: str, **fields: object) -> float:
    """Milliseconds that it takes to open a dataset."""
    items = fields.pop("items", [])
    dataset = shard_pb2.Dataset(name=name, **fields)  # type: ignore[arg-type]  # the fields of a dataset
    begun = time.perf_counter()
    await call(shard_pb2.OpenDatasetRequest(dataset=dataset, items=items))  # type: ignore[arg-type]  # texts
    return (time.perf_counter() - begun) * 1000


async def shards(stack: Site) -> list[Figure]:
    """The same, with more and more trainers, and with datasets of all kinds."""
    async with open_channel(stack.process.address, None) as channel:
        call = Caller(channel, await token(stack), "", METHODS)
        await opened(call, "numbers", total=MOST)
        alone = await together(call, "numbers", 1)
        few, load = await asyncio.gather(together(call, "numbers", TRAINERS), stack.load(SECONDS))
        many = await together(call, "numbers", MANY)
        large = await opened(call, "shuffled", total=MOST, seed=1)
        shuffled = await together(call, "shuffled", TRAINERS)
        listed = await opened(call, "files", size=10, items=[f"part-{each:05}" for each in range(ITEMS)])
        files = await together(call, "files", TRAINERS)
        left = await call(shard_pb2.ListShardsRequest(dataset="numbers"))
    return [
        rate("one trainer", alone),
        rate(f"{TRAINERS} trainers", few, at_least=500.0),
        latency(f"{TRAINERS} trainers", few),
        Figure("processor of the services and of Postgres for each of these", load * 10 * SECONDS / len(few), "ms"),
        rate(f"{MANY} trainers", many, at_least=500.0),
        latency(f"{MANY} trainers", many),
        rate(f"{TRAINERS} trainers, {MOST:,} shards in an order of chance", shuffled, at_least=500.0),
        rate(f"{TRAINERS} trainers, 10 of {ITEMS:,} items each", files, at_least=500.0),
        Figure(f"to open {MOST:,} shards", large, "ms"),
        Figure(f"to open {ITEMS:,} items", listed, "ms"),
        Figure("rows of shards that are left of all that were done", len(left.shards), "rows"),
    ]


def rate(what: str, times: Sequence[float], at_least: float | None = None) -> Figure:
    return Figure(f"lease and finish, {what}", len(times) / SECONDS, "1/s", at_least=at_least)


def latency(what: str, times: Sequence[float]) -> Figure:
    return Figure(f"lease and finish, {what}, p99", percentile(times, 0.99), "ms")


PARTS: Parts = {"shards": of(shards)}

if __name__ == "__main__":
    sys.exit(run("shards", "Shards of data on this machine", PARTS, sys.argv[1:]))
