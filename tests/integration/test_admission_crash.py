"""Kills of the leader, of the standby and of Postgres under load: each workload is admitted once, and nothing leaks."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from paddleflow.queue.v1 import admission_pb2
from support.admission_chaos import Load, logged, require_exactly_once, site
from support.databases import create_database
from support.servers import PostgresServer, ValkeyServer

WORKERS = 3


@pytest.fixture
async def dsn(own_postgres: PostgresServer) -> str:
    return own_postgres.dsn(await create_database(own_postgres))


@pytest.mark.timeout(180)
async def test_a_few_kills_admit_nobody_twice(own_postgres: PostgresServer, dsn: str, own_valkey: ValkeyServer) -> None:
    await endure(own_postgres, dsn, own_valkey, kills=6, seed=20261118)


@pytest.mark.crash
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", [1, 2])
async def test_many_kills_admit_nobody_twice(
    own_postgres: PostgresServer, dsn: str, own_valkey: ValkeyServer, seed: int
) -> None:
    await endure(own_postgres, dsn, own_valkey, kills=100, seed=seed)


async def endure(postgres: PostgresServer, dsn: str, valkey: ValkeyServer, *, kills: int, seed: int) -> None:
    chance, stop = Random(seed), asyncio.Event()
    async with site(postgres, dsn, valkey.url) as made:
        load = Load(made, Random(seed + 1))
        following = asyncio.create_task(load.follow())
        async with asyncio.TaskGroup() as work:
            for number in range(WORKERS):
                work.create_task(load.submit(f"w{number}", stop))
            for _ in range(kills):
                await asyncio.sleep(chance.uniform(0.1, 1.5))
                await made.kill(chance)
            stop.set()
        await load.settled()
        loads = await made.call(admission_pb2.ListLoadsRequest(cluster="chaos"))
        following.cancel()
        await asyncio.wait([following])
    events = await logged(dsn)
    require_exactly_once(events, load)
    assert not load.failures()
    assert all(not each.used.amounts and not each.kept.amounts and not each.waiting for each in loads.loads)
    assert len(load.submitted) > kills
