"""Brings a service's schema to what its code expects: forward only, each file once, one runner at a time."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from importlib.resources.abc import Traversable

import asyncpg

from pf_kit.postgres.database import lock_key
from pf_kit.postgres.errors import let_in, translated
from pf_kit.postgres.pool import Connection
from pf_kit.start import CannotStart

_NAME = re.compile(r"\d{4}_(pre|post)_\w+\.sql")
_SCHEMA = re.compile(r"[a-z][a-z0-9_]*")
LOCK_TIMEOUT = "5s"
"""A migration that waits for a table's lock makes everybody else wait behind it: it rather fails and is run again."""


class Phase(StrEnum):
    """When a migration may run."""

    PRE = "pre"
    """Before the new code is started: the old code still works afterwards."""
    POST = "post"
    """After the last old code has stopped."""
    ALL = "all"


class MigrationRefused(CannotStart):
    """The migrations cannot be applied to this database."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file."""

    name: str
    phase: Phase
    sql: str

    @property
    def checksum(self) -> str:
        """Tells whether the file has changed since it was applied."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def kit_migrations() -> Traversable:
    """The folder with the tables that each service has."""
    return files("pf_kit.postgres") / "sql" / "migrations"


async def migrate(dsn: str, schema: str, folders: Sequence[Traversable], phase: Phase = Phase.ALL) -> list[str]:
    """Applies to the schema what is missing of the kit's migrations and then of each folder's; returns their names.

    Any number of runners may start at once. A file that was changed after it was applied is refused.
    """
    if not _SCHEMA.fullmatch(schema):
        raise ValueError(f"{schema!r} is no name for a schema: lower-case letters, digits and _ only")
    wanted = tuple(read_migrations((kit_migrations(), *folders)))
    with let_in(), translated():
        connection = await asyncpg.connect(dsn, timeout=10, server_settings={"search_path": schema})
        try:
            return await _apply_missing(connection, schema, wanted, phase)
        finally:
            await connection.close()


def read_migrations(folders: Sequence[Traversable]) -> Iterator[Migration]:
    """The files in the order in which they run: folder by folder, by number inside each."""
    seen: set[str] = set()
    for folder in folders:
        for file in sorted(folder.iterdir(), key=lambda file: file.name):
            if not file.name.endswith(".sql"):
                continue
            named = _NAME.fullmatch(file.name)
            if not named or file.name in seen:
                raise MigrationRefused(f"{file.name}: call it NNNN_pre_<words>.sql or NNNN_post_<words>.sql, once")
            seen.add(file.name)
            yield Migration(file.name, Phase(named[1]), file.read_text("utf-8"))


async def _apply_missing(connection: Connection, schema: str, wanted: Sequence[Migration], phase: Phase) -> list[str]:
    applied = []
    for migration in wanted:
        if phase in (Phase.ALL, migration.phase):
            async with connection.transaction():
                known = await _known(connection, schema)
                if not _is_known(migration, known):
                    await _apply(connection, migration)
                    applied.append(migration.name)
    return applied


async def _known(connection: Connection, schema: str) -> Mapping[str, str]:
    """Name and checksum of what was applied before; holds off other runners until the transaction ends."""
    await connection.execute("select pg_advisory_xact_lock($1)", lock_key(schema, "migrations"))
    # Whoever may not make schemas can be given one: even `if not exists` asks for the permission first.
    if not await connection.fetchval("select true from pg_namespace where nspname = $1", schema):
        await connection.execute(f"create schema {schema}")
    await connection.execute(
        "create table if not exists migrations (name text primary key, checksum text not null,"
        " apply_time timestamptz not null default now())"
    )
    return {row["name"]: row["checksum"] for row in await connection.fetch("select name, checksum from migrations")}


def _is_known(migration: Migration, known: Mapping[str, str]) -> bool:
    if known.get(migration.name, migration.checksum) != migration.checksum:
        raise MigrationRefused(
            f"{migration.name} was changed after it was applied: restore the file, and put the change into a new one"
        )
    return migration.name in known


async def _apply(connection: Connection, migration: Migration) -> None:
    await connection.execute(f"set local lock_timeout = '{LOCK_TIMEOUT}'")
    await connection.execute(migration.sql)
    await connection.execute(
        "insert into migrations (name, checksum) values ($1, $2)", migration.name, migration.checksum
    )
