"""Checks of SQL files against the database that the migrations make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable

import asyncpg

from pf_kit.postgres.migrate import migrate
from pf_kit.postgres.pool import Connection

PICTURE = """
select format('column %s.%s %s%s default %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
    case when a.attnotnull then ' not null' else '' end, pg_get_expr(d.adbin, d.adrelid), a.attidentity)
from pg_class c
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
where c.relnamespace = $1::text::regnamespace and c.relkind in ('r', 'p')
union all
select format('constraint %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
from pg_constraint where connamespace = $1::text::regnamespace and conrelid <> 0
union all
select format('index %s', replace(indexdef, schemaname || '.', '')) from pg_indexes where schemaname = $1::text
union all
select format('type %s %s', t.typname, e.enumlabel)
from pg_type t join pg_enum e on e.enumtypid = t.oid where t.typnamespace = $1::text::regnamespace
order by 1
"""


async def picture(connection: Connection, schema: str) -> list[str]:
    """Everything a schema has, one line each."""
    await connection.execute("select set_config('search_path', $1, false)", schema)
    return [line for (line,) in await connection.fetch(PICTURE, schema)]


async def both_pictures(
    dsn: str, folders: Sequence[Traversable], schema_files: Sequence[Traversable]
) -> tuple[list[str], list[str]]:
    """What the migrations make, and what the schema files make; the kit's own come first in both."""
    await migrate(dsn, "migrated", folders)
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("create schema written; set search_path to written")
        for file in (files("pf_kit.postgres") / "sql" / "schema.sql", *schema_files):
            await connection.execute(file.read_text("utf-8"))
        return await picture(connection, "migrated"), await picture(connection, "written")
    finally:
        await connection.close()


async def prepare_all(dsn: str, folders: Sequence[Traversable], queries: Mapping[str, str]) -> None:
    """Has Postgres check each query against the migrated schema."""
    await migrate(dsn, "migrated", folders)
    connection = await asyncpg.connect(dsn, server_settings={"search_path": "migrated"})
    try:
        for sql in queries.values():
            await connection.prepare(str(sql))
    finally:
        await connection.close()
