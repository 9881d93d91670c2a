"""A holder that was stopped for too long cannot commit any more, whatever it believes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import asyncpg
import pytest

from paddleflow.problems import Aborted
from pf_kit.leases import Lease
from pf_kit.postgres.database import PostgresDatabase
from pf_kit.postgres.install import QUERIES
from pf_kit.postgres.leases import GRACE, PostgresLeases, fence
from pf_kit.postgres.views import PostgresView, rows
from support.probe import postgres_database
from support.waiting import eventually

HOLDER = Path(__file__).parents[1] / "support" / "lease_holder.py"


@pytest.fixture
async def database(fresh_dsn: str) -> AsyncIterator[PostgresDatabase]:
    async with postgres_database(fresh_dsn) as opened:
        yield opened


@pytest.fixture
def view(database: PostgresDatabase) -> PostgresView:
    return rows(database.newest)


async def acquired(view: PostgresView, holder: str, ttl: float = 60.0) -> Lease:
    lease = await PostgresLeases(view).acquire("x", holder, "", ttl)
    assert lease
    return lease


async def expire(view: PostgresView) -> None:
    await view.execute("update leases set expires = expires - $1::interval", timedelta(hours=1))


async def store(database: PostgresDatabase, lease: Lease) -> None:
    async with database.change() as change:
        await fence(change, lease)
        await rows(change).execute("insert into items values ($1, $2)", f"{lease.holder}", lease.fence)


async def test_a_change_under_the_newest_fence_commits_even_when_the_lease_is_over(
    database: PostgresDatabase, view: PostgresView
) -> None:
    lease = await acquired(view, "a")
    await expire(view)
    await store(database, lease)
    assert await view.fetchval("select count(*) from items") == 1


async def test_a_change_under_an_old_fence_is_undone(database: PostgresDatabase, view: PostgresView) -> None:
    old = await acquired(view, "a")
    await expire(view)
    new = await acquired(view, "b")
    with pytest.raises(Aborted, match="taken over"):
        await store(database, old)
    await store(database, new)
    assert await view.fetchval("select value from items") == new.fence


async def test_who_takes_over_waits_for_a_change_under_way(database: PostgresDatabase, view: PostgresView) -> None:
    """Else the old holder's change, checked before, would commit after the new holder has read what it leads."""
    old = await acquired(view, "a")
    await expire(view)
    async with database.change() as change:
        await fence(change, old)
        taking = asyncio.create_task(PostgresLeases(view).acquire("x", "b", "", 60.0))
        await asyncio.sleep(0.2)
        assert not taking.done()
    taken = await taking
    assert taken
    assert taken.fence == old.fence + 1


@asynccontextmanager
async def standing(dsn: str, lease: Lease, amid: str) -> AsyncIterator[None]:
    """The old holder's change, and its process stands still in the midst of it."""
    # Without limits of its own, and with the long ones of the server.
    connection = await asyncpg.connect(dsn, server_settings={"search_path": "kit"})
    await connection.execute("begin")
    await connection.execute(QUERIES["hold_fence"].replace("$1", f"'{lease.name}'").replace("$2", str(lease.fence)))
    if amid == "prepared":
        await connection.prepare("select 1")
    sleep = asyncio.create_task(connection.execute("select pg_sleep(100)")) if amid == "running" else None
    yield
    connection.terminate()
    if sleep:
        with pytest.raises(asyncpg.PostgresConnectionError):
            await sleep


@pytest.mark.parametrize("amid", ["idle", "prepared", "running"])
async def test_who_takes_over_waits_for_nobody_who_stands_still(view: PostgresView, fresh_dsn: str, amid: str) -> None:
    """Not even when a statement is prepared and not run: Postgres takes that for work, and sets it no limit."""
    old = await acquired(view, "a")
    await expire(view)
    async with standing(fresh_dsn, old, amid), asyncio.timeout(GRACE + 3):
        takers = [PostgresLeases(view).acquire("x", name, "", 60.0) for name in "bcd"]
        (taken,) = filter(None, await asyncio.gather(*takers))
    assert taken.fence == old.fence + 1


async def test_a_change_under_way_does_not_hinder_the_renewal(database: PostgresDatabase, view: PostgresView) -> None:
    lease = await acquired(view, "a")
    async with database.change() as change:
        await fence(change, lease)
        async with asyncio.timeout(1):
            assert await PostgresLeases(view).renew(lease, 60.0)


@pytest.fixture
def holder(database: PostgresDatabase, fresh_dsn: str) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that leads, and writes its fence again and again."""
    process = subprocess.Popen([sys.executable, HOLDER, fresh_dsn])
    yield process
    process.kill()
    process.wait()


async def test_a_stopped_process_finds_itself_shut_out(
    database: PostgresDatabase, view: PostgresView, holder: subprocess.Popen[bytes]
) -> None:
    async def count() -> int:
        return int(await view.fetchval("select count(*) from items"))

    async def taken() -> Lease | None:
        return await PostgresLeases(view).acquire("x", "heir", "", 60.0)

    await eventually(count)
    os.kill(holder.pid, signal.SIGSTOP)
    lease = await eventually(taken)
    assert lease.fence == 2
    before = await count()
    os.kill(holder.pid, signal.SIGCONT)
    assert await asyncio.to_thread(holder.wait, 10) == 3, "it is told that it was taken over"
    assert await count() == before
