"""All the trouble at once, and for long: Redis away for half a minute, Postgres and relays killed again and again."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from pf_kit.bus.stream import open_redis
from support.databases import create_database
from support.ledger import World, world
from support.servers import PostgresServer, ValkeyServer
from support.waiting import eventually, until

pytestmark = [pytest.mark.crash, pytest.mark.timeout(240)]

RELAY = Path(__file__).parents[1] / "support" / "relay_process.py"
SUBJECTS = "abcdefgh"
CONSUMERS = ("first", "second")
OUTAGE = 30.0


@pytest.fixture
async def dsn(own_postgres: PostgresServer) -> str:
    return own_postgres.dsn(await create_database(own_postgres))


@pytest.fixture
async def troubled(dsn: str, own_valkey: ValkeyServer) -> AsyncIterator[World]:
    async with world(dsn, own_valkey.url) as opened:
        for name in (*CONSUMERS, "first"):
            opened.consumer(name)
        await opened.ready(*CONSUMERS)
        yield opened


@pytest.fixture
def start_relay(dsn: str, own_valkey: ValkeyServer) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Starts relays as processes of their own."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, RELAY, dsn, "owner", own_valkey.url])
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


class Writing:
    """Writers that go on until they are told to stop."""

    def __init__(self, world: World) -> None:
        self.count = 0
        self.longest = 0.0
        self._world = world
        self._going = True
        self._tasks = [asyncio.create_task(self._write(subject)) for subject in SUBJECTS]

    async def more(self, count: int = 100) -> None:
        """Waits until so many more are written."""
        goal = self.count + count
        await until(lambda: self.count >= goal)

    async def stop(self) -> None:
        self._going = False
        await asyncio.gather(*self._tasks)

    async def _write(self, subject: str) -> None:
        while self._going:
            begun = time.monotonic()
            await self._world.write(subject, 1)
            self.count += 1
            self.longest = max(self.longest, time.monotonic() - begun)
            await asyncio.sleep(0.05)


async def test_redis_that_is_away_for_half_a_minute_only_costs_time(troubled: World, own_valkey: ValkeyServer) -> None:
    troubled.relay()
    writing = Writing(troubled)
    await writing.more()
    for away, back in ((own_valkey.kill, own_valkey.start), (own_valkey.freeze, own_valkey.thaw)):
        away()
        begun = time.monotonic()
        while time.monotonic() - begun < OUTAGE / 2:
            known = writing.count
            for consumer in CONSUMERS:
                await eventually(partial(troubled.has, consumer, known), 7.0)
        await asyncio.to_thread(back)
        await writing.more()
    await writing.stop()
    assert writing.longest < 1.0, "writers do not wait for Redis"
    await troubled.settled(CONSUMERS, writing.count)


async def test_redis_that_is_stopped_for_half_a_minute_loses_nothing(troubled: World, own_valkey: ValkeyServer) -> None:
    troubled.relay()
    writing = Writing(troubled)
    await writing.more()
    own_valkey.kill()
    await asyncio.sleep(OUTAGE)
    await asyncio.to_thread(own_valkey.start)
    await writing.more()
    await writing.stop()
    await troubled.settled(CONSUMERS, writing.count)


@pytest.mark.parametrize("seed", [1, 2])
async def test_everything_at_once(
    troubled: World,
    own_postgres: PostgresServer,
    own_valkey: ValkeyServer,
    start_relay: Callable[[], subprocess.Popen[bytes]],
    seed: int,
) -> None:
    chance = random.Random(seed)
    redis = open_redis(own_valkey.url)
    relays = [start_relay() for _ in range(2)]
    writing = Writing(troubled)
    for _ in range(25):
        await asyncio.sleep(chance.random() * 1.5)
        match chance.choice(["relay", "relay", "flush", "valkey", "postgres", "consumer"]):
            case "relay":
                os.kill(relays.pop(0).pid, signal.SIGKILL)
                relays.append(start_relay())
            case "flush":
                await redis.flushall()
            case "valkey":
                own_valkey.kill()
                await asyncio.sleep(chance.random() * 2)
                await asyncio.to_thread(own_valkey.start)
            case "postgres":
                await asyncio.to_thread(chance.choice([own_postgres.stop, own_postgres.kill]))
                await asyncio.to_thread(own_postgres.start)
            case _:
                troubled.consumer(chance.choice(CONSUMERS)).cancel()
    await writing.stop()
    await redis.aclose()
    await troubled.settled(CONSUMERS, writing.count, 30.0)
