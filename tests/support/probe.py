"""A database with one small table, the same for each kind of database."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from pf_kit.clock import SystemClock
from pf_kit.events import Cursor, Fact
from pf_kit.memory import MemoryDatabase, tables
from pf_kit.postgres.database import PostgresDatabase
from pf_kit.postgres.views import rows
from pf_kit.unit import Change, Database, View
from support.databases import migrated

ITEMS = "create table items (key text primary key, value bigint not null)"


@dataclass(frozen=True)
class Stored:
    """The domain event of the table."""

    key: str
    version: int


@dataclass(frozen=True)
class Probe:
    database: Database
    put: Callable[[Change, str, int], Awaitable[None]]
    read: Callable[[View], Awaitable[dict[str, int]]]
    trim: Callable[[Cursor], Awaitable[None]]


def encode(event: object) -> Fact:
    assert isinstance(event, Stored)
    return Fact("test.Stored", f"item/{event.key}", event.version, b"payload")


def memory_probe() -> Probe:
    database = MemoryDatabase(encode=encode, clock=SystemClock())

    async def put(change: Change, key: str, value: int) -> None:
        tables(change).table("items")[key] = value

    async def read(view: View) -> dict[str, int]:
        return dict(tables(view).table("items"))

    async def trim(through: Cursor) -> None:
        database.log.trim(through)

    return Probe(database, put, read, trim)


@asynccontextmanager
async def postgres_database(dsn: str) -> AsyncIterator[PostgresDatabase]:
    """The table `items` in a schema of its own."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "0001_pre_items.sql").write_text(ITEMS)
        async with migrated(dsn, encode, folders=(Path(folder),)) as database:
            yield database


@asynccontextmanager
async def postgres_probe(dsn: str) -> AsyncIterator[Probe]:
    async def put(change: Change, key: str, value: int) -> None:
        await rows(change).execute(
            "insert into items values ($1, $2) on conflict (key) do update set value = $2", key, value
        )

    async def read(view: View) -> dict[str, int]:
        return {row["key"]: row["value"] for row in await rows(view).fetch("select key, value from items")}

    async with postgres_database(dsn) as database:

        async def trim(through: Cursor) -> None:
            async with database.change() as change:
                await rows(change).execute(
                    "delete from outbox where (xid, id) <= ($1::xid8, $2::bigint)", through.xid, through.id
                )
                await rows(change).execute("update outbox_trimmed set xid = $1, id = $2", through.xid, through.id)

        yield Probe(database, put, read, trim)
