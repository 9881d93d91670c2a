"""Old rows go, and only old ones; whoever reads events that go is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

import pytest

from paddleflow.problems import ResumeTokenExpired
from pf_kit.events import BEGINNING, Cursor, Event
from pf_kit.postgres import sweep
from pf_kit.postgres.database import PostgresDatabase
from pf_kit.postgres.positions import PostgresRelayMark
from pf_kit.postgres.sweep import Retention, Sweeper, kit_retentions
from pf_kit.postgres.views import PostgresView, rows
from pf_kit.unit import AuditEntry, AuditFilter, Once
from support.probe import Stored, postgres_database
from support.waiting import eventually

DAY = timedelta(days=1)


@pytest.fixture
async def database(fresh_dsn: str) -> AsyncIterator[PostgresDatabase]:
    async with postgres_database(fresh_dsn) as opened:
        yield opened


@pytest.fixture
def view(database: PostgresDatabase) -> PostgresView:
    return rows(database.newest)


async def emit(database: PostgresDatabase, count: int) -> list[Event]:
    for number in range(count):
        async with database.change() as change:
            change.emit(Stored(f"k{number}", 1))
    return list(await database.log.events_after(BEGINNING, 10_000))


async def age(view: PostgresView, *cursors: Cursor) -> None:
    """Makes events a year old."""
    for cursor in cursors:
        await view.execute(
            "update outbox set create_time = now() - interval '1 year' where xid = $1 and id = $2",
            cursor.xid,
            cursor.id,
        )


async def kept(database: PostgresDatabase) -> list[str]:
    events = await database.log.events_after(await database.log.floor(), 10_000)
    return [event.fact.subject.removeprefix("item/") for event in events]


async def test_old_events_go_even_while_the_bus_is_away(database: PostgresDatabase, view: PostgresView) -> None:
    events = await emit(database, 5)
    await age(view, *(event.cursor for event in events[:4]))
    await Sweeper(view, (), events=DAY).sweep()
    assert await PostgresRelayMark(view).read() == BEGINNING, "none of them was ever on the bus"
    assert await kept(database) == ["k4"], "it is not old"


async def test_whoever_stands_behind_the_trimmed_events_is_told(database: PostgresDatabase, view: PostgresView) -> None:
    events = await emit(database, 3)
    await age(view, *(event.cursor for event in events))
    await Sweeper(view, (), events=DAY).sweep()
    assert await database.log.floor() == await database.log.head() == events[2].cursor
    assert await database.log.events_after(events[2].cursor, 10) == []
    with pytest.raises(ResumeTokenExpired):
        await database.log.events_after(events[1].cursor, 10)


async def test_events_go_from_the_front_only(database: PostgresDatabase, view: PostgresView) -> None:
    """Times are those at which transactions began: they may stand in another order than the events."""
    events = await emit(database, 4)
    await age(view, events[0].cursor, events[2].cursor)
    await Sweeper(view, (), events=DAY).sweep()
    assert await kept(database) == ["k1", "k2", "k3"]


async def test_an_event_stays_while_one_that_comes_before_it_may_still_be_committed(
    database: PostgresDatabase, view: PostgresView
) -> None:
    async with database.change() as older:
        await rows(older).execute("insert into items values ('older', 1)")
        older.emit(Stored("older", 1))
        async with database.change() as newer:
            newer.emit(Stored("newer", 1))
        await Sweeper(view, (), events=timedelta(0)).sweep()
    assert await kept(database) == ["older", "newer"]


async def test_many_batches_are_swept_in_one_go(
    database: PostgresDatabase, view: PostgresView, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "BATCH", 7)
    events = await emit(database, 30)
    await age(view, *(event.cursor for event in events[:25]))
    await Sweeper(view, (), events=DAY).sweep()
    assert await kept(database) == [f"k{number}" for number in range(25, 30)]
    assert await database.log.floor() == events[24].cursor


async def test_nobody_who_reads_along_misses_an_event_without_being_told(
    database: PostgresDatabase, view: PostgresView, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "BATCH", 2)
    monkeypatch.setattr(sweep, "BREATH", 0.01)
    await age(view, *(event.cursor for event in (await emit(database, 41))[:40]))
    events = await database.log.events_after(BEGINNING, 100)
    readers = range(0, 41, 5)
    sweeping = asyncio.create_task(Sweeper(view, (), events=DAY).sweep())
    while not sweeping.done():
        for number in readers:
            await is_told(database, events, number)
    await sweeping
    assert [await is_told(database, events, number) for number in readers] == [True] * 8 + [False]
    assert (await database.log.floor(), await kept(database)) == (events[39].cursor, ["k40"])


async def is_told(database: PostgresDatabase, events: Sequence[Event], number: int) -> bool:
    """True if who has read so many events is told that the next is gone; otherwise all the others must be there."""
    place = events[number - 1].cursor if number else BEGINNING
    try:
        assert await database.log.events_after(place, 100) == events[number:]
    except ResumeTokenExpired:
        return True
    return False


async def test_replies_and_audit_records_go_at_their_time(database: PostgresDatabase, view: PostgresView) -> None:
    for number in range(5):
        async with database.change() as change:
            change.remember(Once("user/a", "/m", f"id{number}", b"d"), b"reply")
            change.audit(AuditEntry("user/a", "", "/m", f"queue/{number}", "", ""))
    await view.execute("update requests set create_time = now() - interval '1 day' where request_id = 'id0'")
    await view.execute("update requests set create_time = now() - interval '3 days' where request_id <> 'id1'")
    await view.execute("update audit set create_time = now() - interval '399 days' where subject = 'queue/1'")
    await view.execute("update audit set create_time = now() - interval '401 days' where subject > 'queue/1'")
    await Sweeper(view, kit_retentions()).sweep()
    assert await view.fetchval("select array_agg(request_id) from requests") == ["id1"]
    assert [r.entry.subject for r in await database.audit_records(AuditFilter(), None, 9)] == ["queue/1", "queue/0"]


async def test_a_services_own_tables_are_swept_too(database: PostgresDatabase, view: PostgresView) -> None:
    await view.execute("create table notes (number int, finish_time timestamptz)")
    await view.execute("insert into notes select n, now() - n * interval '1 hour' from generate_series(0, 49) as n")
    await Sweeper(view, (Retention("notes", "finish_time", timedelta(hours=9.5), batch=4),)).sweep()
    assert await view.fetchval("select count(*) from notes") == 10


async def test_the_sweeper_sweeps_again_and_again(database: PostgresDatabase, view: PostgresView) -> None:
    running = asyncio.create_task(Sweeper(view, kit_retentions(), events=timedelta(0), pause=0.02).run())
    for number in range(2):
        async with database.change() as change:
            change.emit(Stored(f"k{number}", 1))
        head = await database.log.head()

        async def swept(head: Cursor = head) -> bool:
            return await database.log.floor() == head

        assert await eventually(swept)
    running.cancel()
    await asyncio.wait([running])


@pytest.mark.parametrize(("table", "column"), [("a; drop table b", "c"), ("a", "c or true"), ("", "c")])
def test_a_retention_names_a_column(table: str, column: str) -> None:
    with pytest.raises(ValueError, match="no name of a column"):
        Retention(table, column, DAY)
