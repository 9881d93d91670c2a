"""The log between several transactions and processes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from pf_kit.events import BEGINNING, Event
from pf_kit.postgres.database import PostgresDatabase
from pf_kit.postgres.views import rows
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
