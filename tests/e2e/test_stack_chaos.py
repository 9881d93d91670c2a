"""Random kills under load: what was acknowledged is there, each change was told once, nothing is half done."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random

import pytest

from paddleflow.models.queues import Queue
from support.chaos import Killer, Ledger, Watcher, Worker, connect
from support.stacks import Stack, new_stack, wait_until

SENTINEL = "chaos-is-over"
WORKERS = 3
PATIENCE = 120.0
"""Seconds in which everything must be well again after the last kill, on a busy machine too."""


@pytest.mark.xdist_group("stack")
@pytest.mark.timeout(180)
async def test_a_few_kills_under_load_lose_and_double_nothing(stack: Stack) -> None:
    await endure(stack, kills=8, seed=20240325)


@pytest.mark.crash
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [1, 2])
async def test_fifty_kills_under_load_lose_and_double_nothing(seed: int) -> None:
    with new_stack() as stack:
        stack.pf("up")
        await endure(stack, kills=50, seed=seed)


async def endure(stack: Stack, *, kills: int, seed: int) -> None:
    """Kills processes while workers change queues and a watcher looks on, and then compares what all of them know."""
    chance, ledger, stop = Random(seed), Ledger(), asyncio.Event()
    async with connect(stack) as client, connect(stack) as watching:
        watcher, killer = Watcher(watching), Killer(stack, chance)
        watch = asyncio.create_task(watcher.run(SENTINEL))
        await watcher.caught_up.wait()
        workers = [Worker(str(number), client, ledger, Random(seed + number)) for number in range(WORKERS)]
        async with asyncio.TaskGroup() as work:
            for worker in workers:
                work.create_task(worker.run(stop))
            await killer.run(kills)
            stop.set()
        await asyncio.to_thread(wait_until, lambda: bool(stack.status()["ready"]), PATIENCE)
        await client.queues.create(Queue(SENTINEL, max={"cpu": 1000}))
        await asyncio.wait_for(watch, PATIENCE)
        listed = {queue.name: queue.max["cpu"] async for queue in client.queues.list(name_prefix="chaos-")}
        audited = Counter([record.subject async for record in client.audit.list()])
    assert ledger.changes > kills
    assert watcher.told == ledger.told
    assert listed == {**ledger.present, SENTINEL: 1000}
    assert {name: audited[f"queue/{name}"] for name in ledger.told} == {
        name: len(told) for name, told in ledger.told.items()
    }
