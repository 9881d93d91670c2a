"""After a restore from a back-up, nobody goes on from a place that no longer means the same."""

from __future__ import annotations

import asyncpg
import pytest

from pf_kit.bus.ports import Position
from pf_kit.events import BEGINNING, Cursor
from pf_kit.postgres.epoch import new_epoch
from pf_kit.postgres.install import Install, read_install
from pf_kit.postgres.leases import PostgresLeases
from pf_kit.postgres.positions import PostgresInbox, PostgresRelayMark
from pf_kit.postgres.views import rows
from pf_kit.unit import AuditEntry, AuditFilter, Once
from support.probe import Stored, postgres_database

ONCE = Once("user/a", "/m", "id", b"digest")


async def renew(dsn: str) -> str:
    connection = await asyncpg.connect(dsn)
    try:
        return await new_epoch(connection, "kit")
    finally:
        await connection.close()


async def lived_in(dsn: str) -> Install:
    """Uses all of the kit's tables."""
    async with postgres_database(dsn) as database:
        view = rows(database.newest)
        async with database.change() as change:
            change.emit(Stored("a", 1))
            change.audit(AuditEntry("user/a", "", "/m", "item/a", "", ""))
            change.remember(ONCE, b"reply")
            await PostgresInbox("me", "queue").move(change, Position("old", Cursor(1, 1)))
        await PostgresRelayMark(view).advance(await database.log.head())
        assert await PostgresLeases(view).acquire("x", "a", "", 60.0)
        await view.execute("update outbox_trimmed set xid = '3', id = 1")
        return await read_install(view)


async def test_a_new_epoch_forgets_events_and_places_and_keeps_the_rest(fresh_dsn: str) -> None:
    before = await lived_in(fresh_dsn)
    epoch = await renew(fresh_dsn)
    async with postgres_database(fresh_dsn) as database:
        view = rows(database.newest)
        after = await read_install(view)
        assert after.epoch == database.log.epoch == epoch != before.epoch
        assert (after.installation, after.secret) == (before.installation, before.secret)
        assert await database.log.head() == await database.log.floor() == BEGINNING
        assert await PostgresRelayMark(view).read() == BEGINNING
        assert await PostgresInbox("me", "queue").read(view) is None
        assert len(await database.audit_records(AuditFilter(), None, 9)) == 1
        async with database.change() as change:
            assert await change.replay(ONCE) == b"reply"


async def test_a_new_epoch_takes_leases_from_all_who_held_one(fresh_dsn: str) -> None:
    """Those given out after the back-up are not known any more, but their holders may still be about."""
    await lived_in(fresh_dsn)
    await renew(fresh_dsn)
    async with postgres_database(fresh_dsn) as database:
        leases = PostgresLeases(rows(database.newest))
        assert await leases.read("x") is None
        lease = await leases.acquire("x", "b", "", 60.0)
        assert lease
        assert lease.fence > 1_000_000


async def test_a_new_epoch_begins_whole_or_not_at_all(fresh_dsn: str) -> None:
    before = await lived_in(fresh_dsn)
    connection = await asyncpg.connect(fresh_dsn)
    await connection.execute("alter table kit.install add check (epoch::text = '" + before.epoch + "')")
    await connection.close()
    with pytest.raises(asyncpg.CheckViolationError):
        await renew(fresh_dsn)
    async with postgres_database(fresh_dsn) as database:
        assert await read_install(rows(database.newest)) == before
        assert len(await database.log.events_after(await database.log.floor(), 10)) == 1
