"""Databases for tests: a migrated schema, opened the way a service does it."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from importlib.resources.abc import Traversable

import asyncpg

from pf_kit.events import Fact
from pf_kit.postgres.database import PostgresDatabase
from pf_kit.postgres.install import read_install
from pf_kit.postgres.migrate import migrate
from pf_kit.postgres.pool import PoolSettings, open_pool
from pf_kit.postgres.views import PostgresView
from support.servers import PostgresServer


@asynccontextmanager
async def fresh_database(server: PostgresServer) -> AsyncIterator[str]:
    """The address of an empty database, which is gone afterwards."""
    name = f"t{uuid.uuid4().hex}"
    await _administer(server, f"create database {name} strategy file_copy")
    yield server.dsn(name)
    await _administer(server, f"drop database {name} with (force)")


async def _administer(server: PostgresServer, sql: str) -> None:
    connection = await asyncpg.connect(server.dsn())
    try:
        await connection.execute(sql)
    finally:
        await connection.close()


@asynccontextmanager
async def migrated(
    dsn: str, encode: Callable[[object], Fact], *, schema: str = "kit", folders: Sequence[Traversable] = ()
) -> AsyncIterator[PostgresDatabase]:
    """The database of a schema that has the kit's tables and those of the folders."""
    await migrate(dsn, schema, folders)
    async with open_pool(PoolSettings(dsn, schema)) as pool:
        install = await read_install(PostgresView(pool))
        yield PostgresDatabase(pool, schema=schema, install=install, encode=encode, trace=lambda: "")
