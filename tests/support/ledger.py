"""Services that write, relay and consume, and ledgers that tell whether each event was applied once and in order."""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from paddleflow.problems import DatabaseUnavailable, Unavailable
from pf_kit.bus.consumer import Consumer
from pf_kit.bus.relay import Relay
from pf_kit.bus.source import LocalEventSource
from pf_kit.bus.stream import RedisStream, open_redis
from pf_kit.clock import SystemClock
from pf_kit.events import Event
from pf_kit.ids import new_id
from pf_kit.postgres.database import PostgresDatabase
from pf_kit.postgres.positions import PostgresInbox, PostgresRelayMark
from pf_kit.postgres.views import PostgresView, rows
from pf_kit.unit import Change, Once
from support.databases import migrated
from support.probe import Stored, encode
from support.waiting import eventually

SOURCE = "test"
TABLES = """
create table items (key text primary key, value bigint not null);
create table ledger (
    place bigint generated always as identity,
    consumer text, subject text, version bigint, xid xid8, id bigint
);
"""
ENTER = """
insert into ledger (consumer, subject, version, xid, id)
select $1, * from unnest($2::text[], $3::bigint[], $4::xid8[], $5::bigint[])
"""


@asynccontextmanager
async def ledger_database(dsn: str, schema: str) -> AsyncIterator[PostgresDatabase]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, f"0001_pre_{schema}.sql").write_text(TABLES)
        async with migrated(dsn, encode, schema=schema, folders=(Path(folder),)) as database:
            yield database


class LedgerHandler:
    """Enters each event into a table that accepts anything: repetitions would show."""

    def __init__(
        self, consumer: str, fails: Callable[[], bool] = lambda: False, heeds: Callable[[Event], bool] = lambda _: True
    ) -> None:
        self._consumer = consumer
        self._fails = fails
        self.heeds = heeds
        self.resyncs = 0

    def locks(self, events: Sequence[Event]) -> Sequence[str]:
        return ()

    async def apply(self, change: Change, events: Sequence[Event]) -> None:
        facts, places = [event.fact for event in events], [event.cursor for event in events]
        await rows(change).execute(
            ENTER,
            self._consumer,
            [fact.subject for fact in facts],
            [fact.version for fact in facts],
            [place.xid for place in places],
            [place.id for place in places],
        )
        if self._fails():
            raise ValueError("the handler has a bug")

    async def gather(self) -> None:
        return None

    async def resync(self, change: Change, state: None) -> None:
        self.resyncs += 1


class Running:
    """A relay or a consumer that runs."""

    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task

    def cancel(self) -> None:
        """Ends it wherever it is."""
        self._task.cancel()


class World:
    """One service that writes, and consumers in the schema of another one."""

    def __init__(self, owner: PostgresDatabase, other: PostgresDatabase, redis_url: str) -> None:
        self.owner = owner
        self.other = other
        self._redis_url = redis_url
        self._stack = AsyncExitStack()
        self._tasks: set[asyncio.Task[None]] = set()

    def relay(self) -> Running:
        """Starts another relay."""
        mark = PostgresRelayMark(rows(self.owner.newest))
        return self._start(Relay(self.owner.log, mark, self._bus(), SystemClock()).run())

    def consumer(self, name: str, handler: LedgerHandler | None = None) -> Running:
        """Starts another instance of a consumer."""
        owner = LocalEventSource(self.owner.log)
        handler = handler or LedgerHandler(name)
        return self._start(Consumer(name, SOURCE, self.other, self._bus(), owner, handler, SystemClock()).run())

    async def write(self, subject: str, count: int, pause: float = 0.0) -> None:
        """Raises the subject's version step by step, whatever it takes: each step is one request."""
        for _ in range(count):
            await self._insist(subject, Once("user/a", "/write", new_id(), b""))
            await asyncio.sleep(pause * random.random())

    async def _insist(self, subject: str, once: Once) -> None:
        while True:
            try:
                return await self._raise(subject, once)
            except Unavailable:
                await asyncio.sleep(0.02)

    async def _raise(self, subject: str, once: Once) -> None:
        async with self.owner.change(subject) as change:
            if await change.replay(once) is not None:
                return
            version = await rows(change).fetchval(
                "insert into items values ($1, 1) on conflict (key) do update set value = items.value + 1"
                " returning value",
                subject,
            )
            change.emit(Stored(subject, version))
            change.remember(once, b"")

    async def settled(self, consumers: Sequence[str], count: int, patience: float = 20.0) -> None:
        """Waits until every consumer's ledger has all events, then checks each against the outbox."""
        for consumer in consumers:
            await eventually(partial(self.has, consumer, count), patience)
        written = await rows(self.owner.newest).fetch("select subject, version, xid, id from outbox order by xid, id")
        assert len(written) == count
        for consumer in consumers:
            entered = await self._view.fetch(
                "select subject, version, xid, id from ledger where consumer = $1 order by place", consumer
            )
            assert entered == written, consumer

    async def has(self, consumer: str, count: int) -> bool:
        """True if the ledger has so many events; False while the database does not say."""
        with suppress(DatabaseUnavailable):
            return bool(
                await self._view.fetchval("select count(*) >= $2 from ledger where consumer = $1", consumer, count)
            )
        return False

    async def ready(self, *consumers: str) -> None:
        """Waits until the consumers have taken their place, so that no event comes before."""
        for consumer in consumers:
            await eventually(partial(PostgresInbox(consumer, SOURCE).read, self._view))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._stack.aclose()

    @property
    def _view(self) -> PostgresView:
        return rows(self.other.newest)

    def _bus(self) -> RedisStream:
        redis = open_redis(self._redis_url)
        self._stack.push_async_callback(redis.aclose)
        return RedisStream(redis, SOURCE, timeout=0.5)

    def _start(self, running: Coroutine[Any, Any, None]) -> Running:
        task = asyncio.create_task(running)
        self._tasks.add(task)
        return Running(task)


@asynccontextmanager
async def world(dsn: str, redis_url: str) -> AsyncIterator[World]:
    async with ledger_database(dsn, "owner") as owner, ledger_database(dsn, "other") as other:
        opened = World(owner, other, redis_url)
        try:
            yield opened
        finally:
            await opened.close()
