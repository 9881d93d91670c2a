from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from importlib.resources import files

import asyncpg
import pytest

from pf_kit.postgres.database import PostgresDatabase
from pf_kit.postgres.queries import load_queries
from pf_kit.postgres.sweep import Sweeper
from pf_kit.postgres.views import rows
from pf_queue.accounts.domain import Token, User
from pf_queue.accounts.postgres import RETENTIONS, PostgresAccountStore
from pf_queue.accounts.store import LOCK
from support.accounts import encoded
from support.databases import migrated

MIGRATIONS = files("pf_queue") / "sql" / "migrations"


@pytest.fixture
async def database(fresh_dsn: str) -> AsyncIterator[PostgresDatabase]:
    async with migrated(fresh_dsn, encoded, schema="queue", folders=[MIGRATIONS]) as opened:
        yield opened


async def test_postgres_understands_every_query(database: PostgresDatabase, fresh_dsn: str) -> None:
    connection = await asyncpg.connect(fresh_dsn, server_settings={"search_path": "queue"})
    try:
        for sql in load_queries("pf_queue.accounts").values():
            await connection.prepare(str(sql))
    finally:
        await connection.close()


async def test_tokens_are_swept_an_hour_after_their_end(database: PostgresDatabase) -> None:
    store = PostgresAccountStore()
    async with database.change(LOCK) as change:
        now = change.time
        await store.add_user(change, User("alice", "", 1, now, now))
        for token_id, ended in (("old", timedelta(minutes=61)), ("recent", timedelta(minutes=59))):
            await store.add_token(change, Token(token_id, "alice", "", now - timedelta(days=1), now - ended))
        await store.add_token(change, Token("good", "alice", "", now, now + timedelta(days=1)))
    await Sweeper(rows(database.newest), RETENTIONS).sweep()
    kept = [token_id for token_id in ("old", "recent", "good") if await store.token(database.newest, token_id)]
    assert kept == ["recent", "good"]
