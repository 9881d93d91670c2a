"""The log between several transactions and processes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import datetime
from typing import cast

import pytest

from pf_kit.events import BEGINNING, Cursor, Event, Fact
from pf_kit.postgres import log
from pf_kit.postgres.database import PostgresDatabase
from pf_kit.postgres.views import rows
from support.databases import migrated
from support.probe import Stored, postgres_database


@pytest.fixture
async def database(fresh_dsn: str) -> AsyncIterator[PostgresDatabase]:
    async with postgres_database(fresh_dsn) as opened:
        yield opened


async def first_event(database: PostgresDatabase) -> tuple[Event, float]:
    """The first event, and when it came."""
    while True:
        events = await database.log.events_after(BEGINNING, 10)
        if events:
            return events[0], time.monotonic()
        await database.log.commits()


async def emit(database: PostgresDatabase) -> None:
    async with database.change() as change:
        change.emit(Stored("a", 1))


async def test_an_event_that_an_older_transaction_hides_comes_soon_after_it(database: PostgresDatabase) -> None:
    async with database.change() as older:
        await rows(older).execute("insert into items values ('older', 1)")
        await emit(database)
        reading = asyncio.create_task(first_event(database))
        await asyncio.sleep(0.3)
        assert not reading.done(), "the older transaction may still tell of an event that comes before"
    ended = time.monotonic()
    event, came = await reading
    assert event.fact.subject == "item/a"
    assert came - ended < 0.5


async def test_what_one_follower_has_seen_does_not_put_another_one_to_sleep(database: PostgresDatabase) -> None:
    looked, others_have_looked = asyncio.Event(), asyncio.Event()

    async def follow() -> float:
        assert await database.log.events_after(BEGINNING, 10) == []
        looked.set()
        await others_have_looked.wait()
        begun = time.monotonic()
        await database.log.commits()
        return time.monotonic() - begun

    async with database.change() as older:
        await rows(older).execute("insert into items values ('older', 1)")
        await emit(database)
        following = asyncio.create_task(follow())
        await looked.wait()
    assert len(await database.log.events_after(BEGINNING, 10)) == 1
    others_have_looked.set()
    assert await following < 0.5, "the older transaction has ended without a ring"


async def test_an_event_of_another_process_comes_within_about_a_second(
    fresh_dsn: str, database: PostgresDatabase
) -> None:
    reading = asyncio.create_task(first_event(database))
    async with postgres_database(fresh_dsn) as other:
        await emit(other)
    emitted = time.monotonic()
    _, came = await reading
    assert came - emitted < 2.0


async def test_what_others_commit_is_looked_for_once_for_all_who_wait(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0
    head = database.log.head

    async def counted() -> Cursor:
        nonlocal looks
        looks += 1
        return await head()

    async def follow() -> list[bool]:
        return [await database.log.commits(1.3), await database.log.commits(1.3)]

    monkeypatch.setattr(database.log, "head", counted)
    heard = await asyncio.gather(*(follow() for _ in range(5)))
    assert heard == [[True, False]] * 5, "the first look cannot tell whether something is new"
    assert looks == 2


async def test_one_who_waits_costs_next_to_nothing(database: PostgresDatabase) -> None:
    looks = 0

    async def follow() -> None:
        nonlocal looks
        while True:
            await database.log.events_after(await database.log.head(), 10)
            looks += 1
            await database.log.commits()

    await emit(database)
    following = asyncio.create_task(follow())
    await asyncio.sleep(1.5)
    following.cancel()
    assert looks <= 3


async def test_large_events_are_read_few_at_once(fresh_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "READ_BYTES", 100)
    async with migrated(fresh_dsn, lambda size: Fact("t", "s", 1, bytes(cast("int", size)))) as database:
        async with database.change() as change:
            for size in (40, 40, 40, 40, 500, 1):
                change.emit(size)
        pages, place = [], BEGINNING
        while events := await database.log.events_after(place, 10):
            pages.append([len(event.fact.payload) for event in events])
            place = events[-1].cursor
    assert pages == [[40, 40, 40], [40, 500], [1]]


async def test_a_change_of_another_process_is_waited_for_in_its_time(
    fresh_dsn: str, database: PostgresDatabase
) -> None:
    """Both transactions begin before either has the lock; the time of the second must not be that of its begin."""
    async with postgres_database(fresh_dsn) as other:
        async with database.change("a") as first:
            waiting = asyncio.create_task(changed_at(other))
            lock = "select count(*) from pg_locks where locktype = 'advisory' and not granted"
            async with asyncio.timeout(5):
                while not await rows(database.newest).fetchval(lock):  # noqa: ASYNC110 - only Postgres knows
                    await asyncio.sleep(0.01)
            end = await rows(first).fetchval("select clock_timestamp()")
        assert await waiting > end


async def changed_at(database: PostgresDatabase) -> datetime:
    async with database.change("a") as change:
        return change.time


async def test_who_did_not_get_all_hears_at_once_that_there_is_more(database: PostgresDatabase) -> None:
    for _ in range(3):
        await emit(database)
    first = await database.log.events_after(BEGINNING, 2)
    assert await database.log.commits(0.0)
    (last,) = await database.log.events_after(first[-1].cursor, 2)
    assert last.cursor > first[-1].cursor
    assert not await database.log.commits(0.0)
