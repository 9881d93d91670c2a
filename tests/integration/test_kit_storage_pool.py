"""Whatever Postgres does to a connection, a caller soon hears that it should try again, and nothing stays stuck."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from urllib.parse import urlsplit

import pytest

from paddleflow.problems import AlreadyExists, Conflict, DatabaseUnavailable, NotFound
from pf_kit.memory import tables
from pf_kit.postgres.database import PostgresDatabase
from pf_kit.postgres.errors import ConstraintViolated
from pf_kit.postgres.pool import PoolSettings, open_pool
from pf_kit.postgres.queries import Filtered
from pf_kit.postgres.transactions import transaction
from pf_kit.postgres.views import PostgresView, on_constraint, rows
from pf_kit.start import CannotStart
from pf_kit.unit import Change
from support.probe import memory_probe, postgres_database
from support.servers import PostgresServer
from support.waiting import eventually


@pytest.fixture
async def database(fresh_dsn: str) -> AsyncIterator[PostgresDatabase]:
    async with postgres_database(fresh_dsn) as opened:
        yield opened


@asynccontextmanager
async def opened(dsn: str, **settings: float) -> AsyncIterator[PostgresView]:
    async with open_pool(PoolSettings(dsn, "public", **settings)) as pool:  # type: ignore[arg-type]  # all are numbers
        yield PostgresView(pool)


@asynccontextmanager
async def within(seconds: float) -> AsyncIterator[None]:
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < seconds


async def test_when_all_connections_are_lent_others_soon_hear_so(fresh_dsn: str) -> None:
    settings = PoolSettings(fresh_dsn, "public", max_size=1, acquire_timeout=0.2)
    async with open_pool(settings) as pool, pool.lend(), within(5.0):
        with pytest.raises(DatabaseUnavailable):
            await PostgresView(pool).fetchval("select 1")


async def test_when_many_hold_connections_for_long_single_statements_go_on(fresh_dsn: str) -> None:
    settings = PoolSettings(fresh_dsn, "public", max_size=4, turn_timeout=0.2)
    async with open_pool(settings) as pool, pool.hold(), pool.hold(), within(5.0):
        with pytest.raises(DatabaseUnavailable):
            async with pool.hold():
                raise AssertionError
        assert await PostgresView(pool).fetchval("select 1") == 1


async def test_changes_that_wait_for_each_other_leave_connections_to_reads(database: PostgresDatabase) -> None:
    async def change() -> None:
        async with database.change("a"):
            await asyncio.sleep(0.1)

    async with asyncio.TaskGroup() as group:
        for _ in range(30):
            group.create_task(change())
        await asyncio.sleep(0.05)
        async with within(1.5):
            assert await rows(database.newest).fetchval("select 1") == 1


async def test_locks_hold_between_processes(fresh_dsn: str) -> None:
    async with postgres_database(fresh_dsn) as one, postgres_database(fresh_dsn) as other:

        async def add(database: PostgresDatabase, lock: str) -> None:
            async with database.change("z", lock) as change:
                view = rows(change)
                value = await view.fetchval("select coalesce(max(value), 0) from items where key = $1", lock)
                await view.execute(
                    "insert into items values ($1, $2) on conflict (key) do update set value = $2", lock, value + 1
                )

        await asyncio.gather(*(add(database, lock) for lock in "ab" * 10 for database in (one, other)))
        assert await rows(one.newest).fetchval("select array_agg(value) from items") == [20, 20]


async def test_a_database_that_is_away_is_told_at_once(own_postgres: PostgresServer) -> None:
    async with opened(own_postgres.dsn()) as view:
        assert await view.fetchval("select 1") == 1
        own_postgres.stop()
        async with within(5.0):
            with pytest.raises(DatabaseUnavailable):
                await view.fetchval("select 1")
        own_postgres.start()
        assert await view.fetchval("select 1") == 1


async def test_who_opens_a_pool_waits_for_a_database_that_is_starting(own_postgres: PostgresServer) -> None:
    own_postgres.stop()

    async def start() -> None:
        await asyncio.sleep(0.3)
        await asyncio.to_thread(own_postgres.start)

    starting = asyncio.create_task(start())
    async with opened(own_postgres.dsn()) as view:
        assert await view.fetchval("select 1") == 1
    await starting


async def test_but_not_for_ever(own_postgres: PostgresServer) -> None:
    own_postgres.stop()
    async with within(3.0):
        with pytest.raises(DatabaseUnavailable):
            async with opened(own_postgres.dsn(), start_timeout=0.3):
                pass


async def test_a_database_without_room_is_one_to_try_again(fresh_dsn: str) -> None:
    async with opened(fresh_dsn, max_size=1) as view:
        with pytest.raises(DatabaseUnavailable) as caught:
            await view.execute("do $$ begin raise 'no space left on device' using errcode = 'disk_full'; end $$")
        assert "no space left" in repr(caught.value.__cause__)
        assert await view.fetchval("select 1") == 1


async def test_a_statement_runs_only_so_long(fresh_dsn: str) -> None:
    async with opened(fresh_dsn, command_timeout=0.2, max_size=1) as view:
        async with within(2.0):
            with pytest.raises(DatabaseUnavailable):
                await view.execute("select pg_sleep(20)")
        assert await view.fetchval("select count(*) from pg_stat_activity where query ~ 'pg_sleep.20.$'") == 0


async def test_a_transaction_pauses_only_so_long(fresh_dsn: str) -> None:
    async with open_pool(PoolSettings(fresh_dsn, "public", idle_timeout=0.1, max_size=1)) as pool:
        async with pool.lend() as connection:
            view = PostgresView(connection)
            await view.execute("begin")
            await asyncio.sleep(0.3)
            with pytest.raises(DatabaseUnavailable):
                await view.fetchval("select 1")
        assert await PostgresView(pool).fetchval("select 1") == 1


async def test_connections_are_renewed(fresh_dsn: str) -> None:
    async with opened(fresh_dsn, max_size=1, lifetime=0.15) as view:
        first = await view.fetchval("select pg_backend_pid()")
        assert await view.fetchval("select pg_backend_pid()") == first

        async def is_another() -> bool:
            return bool(await view.fetchval("select pg_backend_pid()") != first)

        await eventually(is_another)


async def cut(database: PostgresDatabase, change: Change) -> None:
    """Ends the change's connection from another one."""
    pid = await rows(change).fetchval("select pg_backend_pid()")
    await rows(database.newest).execute("select pg_terminate_backend($1)", pid)


async def test_a_connection_that_is_cut_in_a_change_undoes_it(database: PostgresDatabase) -> None:
    async def store() -> None:
        async with database.change() as change:
            await rows(change).execute("insert into items values ('a', 1)")
            await cut(database, change)
            await rows(change).execute("insert into items values ('b', 1)")

    with pytest.raises(DatabaseUnavailable):
        await store()
    assert await rows(database.newest).fetchval("select count(*) from items") == 0


async def test_what_a_change_raises_matters_more_than_the_broken_connection(database: PostgresDatabase) -> None:
    async def fail() -> None:
        async with database.change() as change:
            await cut(database, change)
            raise NotFound

    with pytest.raises(NotFound):
        await fail()


async def test_a_cancelled_change_stops_its_statement_and_gives_the_connection_back(database: PostgresDatabase) -> None:
    async def change() -> None:
        async with database.change("a") as change:
            await rows(change).execute("select pg_sleep(20)")

    async with within(3.0):
        for _ in range(12):
            task = asyncio.create_task(change())
            await asyncio.sleep(0.03)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        async with database.change("a"):
            pass


async def test_a_server_that_only_reads_is_not_the_one(database: PostgresDatabase) -> None:
    """A primary that was replaced comes back as a standby."""

    async def store() -> None:
        async with database.change() as change:
            await rows(change).execute("set local transaction_read_only = on")
            await rows(change).execute("insert into items values ('a', 1)")

    with pytest.raises(DatabaseUnavailable):
        await store()


async def test_of_two_changes_that_block_each_other_one_is_told_to_try_again(database: PostgresDatabase) -> None:
    async with database.change() as change:
        await rows(change).execute("insert into items values ('a', 0), ('b', 0)")
    ready = asyncio.Barrier(2)

    async def add(*keys: str) -> None:
        async with database.change() as change:
            await rows(change).execute("update items set value = value + 1 where key = $1", keys[0])
            await ready.wait()
            await rows(change).execute("update items set value = value + 1 where key = $1", keys[1])

    told = await asyncio.gather(add("a", "b"), add("b", "a"), return_exceptions=True)
    assert [type(each) for each in told if each] == [Conflict]
    assert await rows(database.newest).fetchval("select array_agg(value) from items") == [1, 1]


async def test_a_violated_constraint_is_the_problem_that_the_store_names(database: PostgresDatabase) -> None:
    async def insert() -> None:
        async with database.change() as change:
            with on_constraint(items_pkey=AlreadyExists("the item a exists")):
                await rows(change).execute("insert into items values ('a', 1)")

    await insert()
    with pytest.raises(AlreadyExists, match="the item a exists"):
        await insert()


async def test_a_violated_constraint_that_nobody_names_is_a_fault(database: PostgresDatabase) -> None:
    async def insert() -> None:
        async with database.change() as change:
            with on_constraint(items_pkey=AlreadyExists()):
                await rows(change).execute("insert into items values ('a', null)")

    with pytest.raises(ConstraintViolated, match="value"):
        await insert()


async def test_columns_of_json_are_python_values_and_times_have_a_zone(database: PostgresDatabase) -> None:
    value = {"cpu": 2**53 - 1, "names": ["ä", None], "deep": {"x": 0.5}}
    view = rows(database.newest)
    assert await view.fetchval("select $1::jsonb", value) == value
    assert await view.fetchval("select timestamptz '2026-01-01 00:00:00+00'") == datetime(2026, 1, 1, tzinfo=UTC)
    assert await view.fetchval("show search_path") == "kit"


async def test_a_store_for_one_kind_of_database_refuses_the_other(database: PostgresDatabase) -> None:
    with pytest.raises(TypeError, match="MemoryView is no view of a Postgres database"):
        rows(memory_probe().database.newest)
    with pytest.raises(TypeError, match="PostgresView is no view of a database in memory"):
        tables(database.newest)


async def test_tables_in_memory_change_only_inside_a_change() -> None:
    probe = memory_probe()
    async with probe.database.change() as change:
        await probe.put(change, "a", 1)
    with pytest.raises(TypeError):
        tables(probe.database.newest).table("items")["a"] = 2
    async with probe.database.snapshot() as snapshot:
        with pytest.raises(TypeError):
            tables(snapshot).table("items")["a"] = 2


async def test_a_connection_that_hangs_is_given_up(fresh_dsn: str) -> None:
    async with open_pool(PoolSettings(fresh_dsn, "public", command_timeout=0.3, acquire_timeout=0.5)) as pool:
        async with pool.lend() as other, pool.lend() as connection:
            pid = await PostgresView(connection).fetchval("select pg_backend_pid()")
            assert await PostgresView(other).fetchval("select 1") == 1
        os.kill(pid, signal.SIGSTOP)
        async with within(5.0):
            answers = await asyncio.gather(
                *(PostgresView(pool).fetchval("select 1") for _ in range(4)), return_exceptions=True
            )
            assert {type(answer) for answer in answers} <= {int, DatabaseUnavailable}
            assert await PostgresView(pool).fetchval("select 1") == 1
        os.kill(pid, signal.SIGCONT)


async def test_a_service_that_may_not_in_is_told_why_and_no_secret(fresh_dsn: str) -> None:
    with pytest.raises(CannotStart, match="none-such"):
        async with opened(urlsplit(fresh_dsn)._replace(path="/none-such").geturl()):
            pass
    for malformed in ("postgresql://u:s3cret/word@host:5432/d", "host=x password=s3cret", "s3cret"):
        with pytest.raises(CannotStart, match="postgresql://user:password@host") as caught:
            async with opened(malformed):
                pass
        assert "s3cret" not in str(caught.value)


async def test_a_wrong_password_is_told(fresh_dsn: str) -> None:
    """By a Postgres that asks for none, hence of a user whom it does not know."""
    stranger = urlsplit(fresh_dsn)
    with pytest.raises(CannotStart, match="stranger"):
        async with opened(stranger._replace(netloc=f"stranger:s3cret@{stranger.netloc.rpartition('@')[2]}").geturl()):
            pass


async def test_a_database_that_nobody_answers_for_is_named() -> None:
    with pytest.raises(DatabaseUnavailable, match=r"has not answered for 0\.2 s: .*127\.0\.0\.1"):
        async with opened("postgresql://u:s3cret@127.0.0.1:1/d", start_timeout=0.2):
            pass


async def test_a_read_that_is_cut_short_leaves_no_transaction_open(fresh_dsn: str) -> None:
    """The next borrower's would begin inside of it, and Postgres refuses that for all but the simplest."""
    chance = random.Random(1)
    async with open_pool(PoolSettings(fresh_dsn, "public", max_size=1)) as pool:
        for number in range(400):
            # Each time another statement, so that each must be prepared.
            reading = asyncio.create_task(PostgresView(pool).fetchval(f"select {number} + $1::int", 1))
            await asyncio.sleep(chance.uniform(0, 0.001))
            reading.cancel()
            await asyncio.wait([reading])
            async with pool.lend() as lent, transaction(lent, isolation="repeatable_read", readonly=True):
                assert await lent.fetchval("select 1") == 1


async def test_one_plan_serves_all_calls_but_those_with_filters(fresh_dsn: str) -> None:
    async with open_pool(PoolSettings(fresh_dsn, "public", max_size=1)) as pool:
        view = PostgresView(pool)
        filtered = Filtered("select 2 where $1::integer is null or $1 = 2")
        for number in (1, 2):
            await view.fetch("select 1 where $1::integer = 1", number)
            await view.fetch(filtered, number)
        plans = await view.fetch("select statement, generic_plans, custom_plans from pg_prepared_statements")
        found = {row["statement"][:8]: (row["generic_plans"], row["custom_plans"]) for row in plans}
        assert (found["select 1"], found["select 2"]) == ((2, 0), (0, 2))
        assert await view.fetchval("show enable_seqscan") == "off"


async def test_a_filtered_query_that_fails_breaks_no_change(database: PostgresDatabase) -> None:
    async def fail() -> None:
        async with database.change() as change:
            await rows(change).execute("set local statement_timeout = 50")
            await rows(change).fetch(Filtered("select pg_sleep(5) where $1::integer is null or true"), 1)

    with pytest.raises(DatabaseUnavailable):
        await fail()
    async with database.change() as change:
        assert await rows(change).fetchval(Filtered("select 1 where $1::integer is null or true"), 1) == 1
