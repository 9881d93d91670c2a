"""Two consumers, and all the trouble there is: each event is applied exactly once by each, in order."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

import asyncpg
import pytest

from pf_kit.bus import consumer
from pf_kit.bus.stream import open_redis
from pf_kit.events import Cursor
from pf_kit.postgres.epoch import new_epoch
from pf_kit.postgres.positions import PostgresInbox, PostgresRelayMark
from pf_kit.postgres.sweep import Sweeper
from pf_kit.postgres.views import rows
from support.databases import create_database
from support.ledger import SOURCE, LedgerHandler, World, world
from support.servers import PostgresServer, ValkeyServer
from support.waiting import eventually, until

SUBJECTS = "abcde"
RELAY = Path(__file__).parents[1] / "support" / "relay_process.py"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Consumers that ask sooner, so that the tests end sooner."""
    monkeypatch.setattr(consumer, "SILENCE", 0.5)
    monkeypatch.setattr(consumer, "LISTEN", 0.2)
    monkeypatch.setattr(consumer, "DEAF", 0.1)


@pytest.fixture
async def calm(fresh_dsn: str, valkey_server: ValkeyServer) -> AsyncIterator[World]:
    async with world(fresh_dsn, valkey_server.url) as opened:
        yield opened


@asynccontextmanager
async def traffic(world: World, each: int, pause: float = 0.01) -> AsyncIterator[None]:
    """Events of five subjects, and two consumers, one of them with two instances."""
    for name in ("first", "first", "second"):
        world.consumer(name)
    await world.ready("first", "second")
    async with asyncio.TaskGroup() as writers:
        for subject in SUBJECTS:
            writers.create_task(world.write(subject, each, pause))
        yield
    await world.settled(("first", "second"), each * len(SUBJECTS))


async def test_without_trouble(calm: World) -> None:
    calm.relay()
    async with traffic(calm, 60):
        pass


async def test_without_a_relay(calm: World) -> None:
    """The owner is asked instead: an event comes later, and that is all."""
    async with traffic(calm, 20):
        pass


async def test_events_without_effect_are_passed_over_and_noted_with_the_next_that_has_one(calm: World) -> None:
    calm.relay()
    calm.consumer("some", LedgerHandler("some", heeds=lambda event: event.fact.subject == "item/a"))
    await calm.ready("some")
    inbox, view = PostgresInbox("some", SOURCE), calm.other.newest
    before = await inbox.read(view)
    await calm.write("b", 5)
    await calm.write("a", 1)
    await eventually(partial(calm.has, "some", 1))
    first = await inbox.read(view)
    assert first != before
    await calm.write("b", 3)
    # Whoever comes after a crash begins where it was noted, and loses nothing.
    calm.consumer("some", LedgerHandler("some", heeds=lambda event: event.fact.subject == "item/a"))
    await calm.write("a", 1)
    entered = partial(rows(view).fetch, "select subject from ledger where consumer = 'some' order by place")
    await eventually(partial(_ends_twice, entered))
    subjects = [row["subject"] for row in await entered()]
    assert subjects.count("item/a") == 2
    assert len(subjects) <= 10


async def _ends_twice(entered: Callable[[], Awaitable[list[asyncpg.Record]]]) -> bool:
    return [row["subject"] for row in await entered()].count("item/a") == 2


async def test_places_are_noted_now_and_then_though_nothing_has_an_effect(
    calm: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer, "NOTE_PAUSE", 0.1)
    calm.relay()
    calm.consumer("none", LedgerHandler("none", heeds=lambda _: False))
    await calm.ready("none")
    inbox, view = PostgresInbox("none", SOURCE), calm.other.newest
    before = await inbox.read(view)

    async def moved() -> bool:
        await calm.write("b", 1)
        return await inbox.read(view) != before

    await eventually(moved)


async def test_with_two_relays(calm: World) -> None:
    calm.relay()
    calm.relay()
    async with traffic(calm, 60):
        pass


async def test_relays_that_are_cancelled_anywhere(calm: World) -> None:
    chance = random.Random(1)
    async with traffic(calm, 60):
        for _ in range(40):
            relay = calm.relay()
            await asyncio.sleep(chance.random() * 0.03)
            relay.cancel()
        calm.relay()


async def test_consumers_that_are_cancelled_anywhere(calm: World) -> None:
    chance = random.Random(2)
    calm.relay()
    async with traffic(calm, 60):
        for number in range(40):
            instance = calm.consumer(("first", "second")[number % 2])
            await asyncio.sleep(chance.random() * 0.03)
            instance.cancel()


@pytest.fixture
def start_relay(fresh_dsn: str, valkey_server: ValkeyServer) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Starts relays as processes of their own."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, RELAY, fresh_dsn, "owner", valkey_server.url])
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


async def test_relays_that_are_killed(calm: World, start_relay: Callable[[], subprocess.Popen[bytes]]) -> None:
    mark = PostgresRelayMark(rows(calm.owner.newest))

    async def passed(place: Cursor) -> bool:
        # On a slow machine all may have been written, and carried, by the relay before.
        noted = await mark.read()
        return noted > place or noted == await calm.owner.log.head()

    async with traffic(calm, 80, 0.08):
        for _ in range(2):
            place, process = await mark.read(), start_relay()
            await eventually(partial(passed, place))
            os.kill(process.pid, signal.SIGKILL)
        start_relay()


async def test_redis_that_forgets_everything_again_and_again(calm: World, valkey_server: ValkeyServer) -> None:
    redis = open_redis(valkey_server.url)
    calm.relay()
    async with traffic(calm, 60):
        for _ in range(15):
            await asyncio.sleep(0.03)
            await redis.flushall()
    await redis.aclose()


Trouble = Callable[[ValkeyServer], Awaitable[None]]


async def kill_and_start(valkey: ValkeyServer) -> None:
    valkey.kill()
    await asyncio.sleep(0.3)
    await asyncio.to_thread(valkey.start)


async def freeze_and_thaw(valkey: ValkeyServer) -> None:
    valkey.freeze()
    await asyncio.sleep(0.8)
    valkey.thaw()


@pytest.mark.parametrize("trouble", [kill_and_start, freeze_and_thaw])
async def test_redis_that_comes_and_goes(fresh_dsn: str, own_valkey: ValkeyServer, trouble: Trouble) -> None:
    async with world(fresh_dsn, own_valkey.url) as troubled:
        troubled.relay()
        async with traffic(troubled, 60, 0.04):
            for _ in range(2):
                await asyncio.sleep(0.1)
                await trouble(own_valkey)


@pytest.mark.parametrize("ending", ["stop", "kill"])
async def test_postgres_that_comes_and_goes(
    own_postgres: PostgresServer, valkey_server: ValkeyServer, ending: str
) -> None:
    dsn = own_postgres.dsn(await create_database(own_postgres))
    async with world(dsn, valkey_server.url) as troubled:
        troubled.relay()
        async with traffic(troubled, 60, 0.03):
            for _ in range(2):
                await asyncio.sleep(0.2)
                await asyncio.to_thread(getattr(own_postgres, ending))
                await asyncio.to_thread(own_postgres.start)


async def test_a_handler_that_fails_now_and_then(calm: World, caplog: pytest.LogCaptureFixture) -> None:
    chance = random.Random(4)
    calm.relay()
    calm.consumer("clumsy", LedgerHandler("clumsy", fails=lambda: chance.random() < 0.3))
    await calm.ready("clumsy")
    await asyncio.gather(*(calm.write(subject, 15, 0.01) for subject in SUBJECTS))
    await calm.settled(("clumsy",), 15 * len(SUBJECTS))
    assert "the handler has a bug" in caplog.text


async def test_a_state_that_cannot_be_gathered_is_asked_for_again(
    calm: World, caplog: pytest.LogCaptureFixture
) -> None:
    class Unlucky(LedgerHandler):
        failures = 2

        async def gather(self) -> None:
            self.failures -= 1
            if self.failures >= 0:
                raise OSError("the owner hung up")

    handler = Unlucky("unlucky")
    calm.consumer("unlucky", handler)
    await calm.ready("unlucky")
    assert (handler.failures, handler.resyncs) == (-1, 1)
    assert "the owner hung up" in caplog.text


async def test_whoever_was_away_for_too_long_starts_over(calm: World) -> None:
    calm.relay()
    handler = LedgerHandler("late")
    first = calm.consumer("late", handler)
    await calm.ready("late")
    await calm.write("a", 5)
    await calm.settled(("late",), 5)
    first.cancel()
    await calm.write("a", 5)
    mark = PostgresRelayMark(rows(calm.owner.newest))

    async def all_published() -> bool:
        return await mark.read() == await calm.owner.log.head()

    await eventually(all_published)
    await Sweeper(rows(calm.owner.newest), (), events=timedelta(0)).sweep()
    assert handler.resyncs == 1, "when it began"
    calm.consumer("late", handler)
    await until(lambda: handler.resyncs == 2)
    await calm.write("a", 3)
    await eventually(partial(calm.has, "late", 8))
    versions = await rows(calm.other.newest).fetchval("select array_agg(version order by place) from ledger")
    assert versions == [1, 2, 3, 4, 5, 11, 12, 13]


async def test_a_restored_owner_makes_consumers_start_over(fresh_dsn: str, valkey_server: ValkeyServer) -> None:
    handler = LedgerHandler("c")
    async with world(fresh_dsn, valkey_server.url) as before:
        before.relay()
        before.consumer("c", handler)
        await before.ready("c")
        await before.write("a", 5)
        await before.settled(("c",), 5)
    connection = await asyncpg.connect(fresh_dsn)
    await new_epoch(connection, "owner")
    await connection.close()
    async with world(fresh_dsn, valkey_server.url) as after:
        after.relay()
        after.consumer("c", handler)
        await until(lambda: handler.resyncs == 2)
        await after.write("a", 5)
        await eventually(partial(after.has, "c", 10))
