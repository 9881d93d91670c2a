"""Admissions that are stored, with their events, over a real socket; and how soon a new leader decides."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import grpc
from grpc import aio

from bench.queue_load import BATCH, Load, load, workload
from paddleflow.channel import open_channel_without_retries
from paddleflow.queue.v1 import queue_pb2
from support.figures import Figure

TOP = "all"
"""Sorts before the others: the first page of loads holds it."""
PLENTY = 10**12
RUNNING = 10_000
KUEUE = 42.7
"""Admissions a second that Kueue's own CI sees in its baseline."""


def figures() -> list[Figure]:
    found: list[Figure] = []
    for queues, pending in ((100, 10_000), (1_000, 10_000), (100, 100_000)):
        found += asyncio.run(durable(queues, pending))
    return found + asyncio.run(restart(100, 100_000))


async def durable(queues: int, pending: int) -> list[Figure]:
    """Everything waits in a tree that is held; the clock runs from when it is opened."""
    async with load() as site:
        await build(site, queues)
        await site.move(queue_pb2.HoldQueueRequest(name=TOP))
        empty = site.memory
        begun = time.perf_counter()
        await fill(site, queues, pending)
        submitting = time.perf_counter() - begun
        each = (site.memory - empty) * 2**20 / pending
        await site.move(queue_pb2.OpenQueueRequest(name=TOP))
        seconds = await site.until_admitted(TOP, pending)
    what = f"{pending:,} wait in {queues:,} queues"
    return [
        Figure(f"durable admissions, {what}", pending / seconds, "1/s", KUEUE, at_least=1000),
        Figure(f"durable submissions, {what}", pending / submitting, "1/s"),
        Figure(f"memory of a workload that waits, {what}", each, "bytes"),
    ]


async def restart(queues: int, pending: int) -> list[Figure]:
    """From the start of the process to the first admission, with workloads that run and many more that wait."""
    async with load() as site:
        await build(site, queues, least=RUNNING // queues)
        await fill(site, queues, RUNNING + pending)
        await site.queue("more", least=1, most=1)
        await site.until_admitted(TOP, RUNNING)
        site.process.stop()
        begun = time.perf_counter()
        site.process.start()
        # A client that tries again by itself waits up to 2.7 s before it does, whether somebody leads by then or not.
        async with open_channel_without_retries(site.process.address, None) as channel:
            asking = replace(site, channel=channel)
            while not await submitted(asking):  # noqa: ASYNC110 - another process begins to lead
                await asyncio.sleep(0.05)
            await asking.until_admitted("more", 1)
        seconds = time.perf_counter() - begun
    what = f"restart to the first admission, {pending:,} wait and {RUNNING:,} run"
    return [Figure(what, seconds, "s", at_most=5.0)]


async def submitted(site: Load) -> bool:
    """False as long as nobody leads."""
    try:
        await site.submit([workload("first", "more", 1)])
    except aio.AioRpcError as error:
        if error.code() is not grpc.StatusCode.UNAVAILABLE:
            raise
        return False
    return True


async def build(site: Load, queues: int, least: int = PLENTY // 10**4) -> None:
    await site.machines(cpu=PLENTY)
    total = least * queues
    await site.queue(TOP, least=total, most=total)
    for number in range(queues):
        await site.queue(f"q{number}", TOP, least=least, most=total)


async def fill(site: Load, queues: int, count: int) -> None:
    for start in range(0, count, BATCH):
        batch = range(start, min(start + BATCH, count))
        await site.submit([workload(f"j{number}", f"q{number % queues}", 1) for number in batch])
