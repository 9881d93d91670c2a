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
from pf_kit.postgres.pool import Connection, PoolSettings, open_pool
from pf_kit.postgres.views import PostgresView
from support.servers import PostgresServer


@asynccontextmanager
async def fresh_database(server: PostgresServer) -> AsyncIterator[str]:
    """The address of an empty database. It is emptied and used again afterwards: that is faster than a new one."""
    name = server.spare_databases.pop() if server.spare_databases else await create_database(server)
    yield server.dsn(name)
    await _empty(server.dsn(name))
    server.spare_databases.append(name)


async def create_database(server: PostgresServer) -> str:
    """Makes an empty database and returns its name."""
    name = f"t{uuid.uuid4().hex}"
    async with _connected(server.dsn()) as connection:
        await connection.execute(f"create database {name} strategy file_copy")
    return name


async def _empty(dsn: str) -> None:
    async with _connected(dsn) as connection:
        await connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )
        for (schema,) in await connection.fetch(
            "select nspname from pg_namespace where nspname !~ '^(pg_|information_schema$|public$)'"
        ):
            await connection.execute(f"drop schema {schema} cascade")


@asynccontextmanager
async def _connected(dsn: str) -> AsyncIterator[Connection]:
    connection = await asyncpg.connect(dsn)
    try:
        yield connection
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
