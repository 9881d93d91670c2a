"""Migrations: each once, in order, by one runner at a time; and what they make is what the schema file says."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path

import asyncpg
import pytest

from paddleflow.problems import Conflict
from pf_kit.postgres.install import QUERIES, read_install
from pf_kit.postgres.migrate import MigrationRefused, Phase, migrate
from pf_kit.postgres.pool import PoolSettings, open_pool
from pf_kit.postgres.queries import load_queries
from pf_kit.postgres.views import PostgresView
from pf_kit.start import CannotStart
from support.schemas import both_pictures, prepare_all

KIT = "0001_pre_kit.sql"


def write(folder: Path, **sql: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in sql.items():
        Path(folder, f"{name}.sql").write_text(text)
    return folder


async def fetch(dsn: str, sql: str) -> list[object]:
    connection = await asyncpg.connect(dsn, server_settings={"search_path": "s"})
    try:
        return [row[0] for row in await connection.fetch(sql)]
    finally:
        await connection.close()


async def test_the_schema_file_says_what_the_migrations_make(fresh_dsn: str) -> None:
    migrated, written = await both_pictures(fresh_dsn, (), ())
    assert migrated == written
    assert any("outbox" in line for line in migrated)


async def test_postgres_understands_each_query(fresh_dsn: str) -> None:
    await prepare_all(fresh_dsn, (), QUERIES)


async def test_each_migration_runs_once(fresh_dsn: str, tmp_path: Path) -> None:
    folder = write(tmp_path, **{"0002_pre_b": "insert into a values (1)", "0001_pre_a": "create table a (n int)"})
    assert await migrate(fresh_dsn, "s", (folder,)) == [KIT, "0001_pre_a.sql", "0002_pre_b.sql"]
    assert await migrate(fresh_dsn, "s", (folder,)) == []
    assert await fetch(fresh_dsn, "select n from a") == [1]


async def test_folders_run_one_after_the_other(fresh_dsn: str, tmp_path: Path) -> None:
    first = write(tmp_path / "first", **{"0009_pre_a": "create table a (n int)"})
    second = write(tmp_path / "second", **{"0001_pre_b": "insert into a values (1)"})
    assert await migrate(fresh_dsn, "s", (first, second)) == [KIT, "0009_pre_a.sql", "0001_pre_b.sql"]


async def test_what_waits_for_the_old_code_to_stop_runs_later(fresh_dsn: str, tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        **{"0001_pre_a": "create table a (n int)", "0002_post_b": "drop table a", "0003_pre_c": "create table c ()"},
    )
    assert await migrate(fresh_dsn, "s", (folder,), Phase.PRE) == [KIT, "0001_pre_a.sql", "0003_pre_c.sql"]
    assert await migrate(fresh_dsn, "s", (folder,), Phase.PRE) == []
    assert await migrate(fresh_dsn, "s", (folder,), Phase.POST) == ["0002_post_b.sql"]


async def test_many_runners_at_once_do_the_work_once(fresh_dsn: str, tmp_path: Path) -> None:
    folder = write(tmp_path, **{"0001_pre_a": "create table a (n int); insert into a values (1)"})
    done = await asyncio.gather(*(migrate(fresh_dsn, "s", (folder,)) for _ in range(6)))
    assert sorted(name for names in done for name in names) == ["0001_pre_a.sql", KIT]
    assert await fetch(fresh_dsn, "select n from a") == [1]


async def test_a_file_that_changed_is_refused(fresh_dsn: str, tmp_path: Path) -> None:
    folder = write(tmp_path, **{"0001_pre_a": "create table a (n int)"})
    await migrate(fresh_dsn, "s", (folder,))
    write(tmp_path, **{"0001_pre_a": "create table a (n bigint)"})
    with pytest.raises(MigrationRefused, match=r"0001_pre_a\.sql was changed"):
        await migrate(fresh_dsn, "s", (folder,))


async def test_a_migration_that_fails_leaves_nothing(fresh_dsn: str, tmp_path: Path) -> None:
    folder = write(tmp_path, **{"0001_pre_a": "create table a (n int); select 1/0"})
    with pytest.raises(asyncpg.DivisionByZeroError):
        await migrate(fresh_dsn, "s", (folder,))
    assert await fetch(fresh_dsn, "select to_regclass('a')") == [None]
    write(tmp_path, **{"0001_pre_a": "create table a (n int)"})
    assert await migrate(fresh_dsn, "s", (folder,)) == ["0001_pre_a.sql"]


@pytest.mark.parametrize("name", ["1_pre_a", "0001_a", "0001_before_a", "0001_pre_A-b"])
async def test_a_file_with_another_name_is_refused(fresh_dsn: str, tmp_path: Path, name: str) -> None:
    with pytest.raises(MigrationRefused, match="NNNN_pre_"):
        await migrate(fresh_dsn, "s", (write(tmp_path, **{name: "select 1"}),))


async def test_two_files_of_one_name_are_refused(fresh_dsn: str, tmp_path: Path) -> None:
    with pytest.raises(MigrationRefused, match="once"):
        await migrate(fresh_dsn, "s", (write(tmp_path, **{"0001_pre_kit": "select 1"}),))


async def test_a_schema_is_named_plainly(fresh_dsn: str) -> None:
    with pytest.raises(ValueError, match="lower-case"):
        await migrate(fresh_dsn, "s; drop schema public", ())


async def test_a_migration_does_not_wait_long_for_a_table(
    fresh_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pf_kit.postgres.migrate.LOCK_TIMEOUT", "200ms")
    await migrate(fresh_dsn, "s", (write(tmp_path, **{"0001_pre_a": "create table a (n int)"}),))
    write(tmp_path, **{"0002_pre_b": "alter table a add m int"})
    reader = await asyncpg.connect(fresh_dsn)
    async with reader.transaction():
        await reader.execute("select from s.a")
        with pytest.raises(Conflict):
            await migrate(fresh_dsn, "s", (tmp_path,))
    await reader.close()
    assert await migrate(fresh_dsn, "s", (tmp_path,)) == ["0002_pre_b.sql"]


async def test_each_installation_is_made_of_chance(fresh_dsn: str) -> None:
    installs = []
    for schema in ("a", "b"):
        await migrate(fresh_dsn, schema, ())
        async with open_pool(PoolSettings(fresh_dsn, schema)) as pool:
            installs.append(await read_install(PostgresView(pool)))
    one, other = installs
    assert len(one.secret) == 32
    assert one.secret != other.secret
    assert len({one.epoch, other.epoch, one.installation, other.installation}) == 4


def test_queries_are_named_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    write(tmp_path / "some_queries", queries="-- All.\n\n-- one --\n-- Why.\nselect 1\n\n-- two --\nselect 2\n")
    assert load_queries("some_queries", "queries.sql") == {"one": "-- Why.\nselect 1", "two": "select 2"}


@pytest.mark.parametrize("text", ["-- a --\nselect 1\n-- a --\nselect 2", "select 1\n-- a --\nselect 1"])
def test_a_query_without_a_name_of_its_own_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    write(tmp_path / "bad_queries", queries=text)
    with pytest.raises(ValueError, match=r"bad_queries/queries\.sql"):
        load_queries("bad_queries", "queries.sql")


async def test_who_may_not_make_a_schema_can_be_given_one(fresh_dsn: str) -> None:
    role = f"r{uuid.uuid4().hex}"
    connection = await asyncpg.connect(fresh_dsn)
    try:
        await connection.execute(f"create role {role} login; create schema kit authorization {role}")
        limited = fresh_dsn.replace("test@", f"{role}@")
        assert await migrate(limited, "kit", ()) == ["0001_pre_kit.sql"]
        with pytest.raises(CannotStart, match="permission denied"):
            await migrate(limited, "another", ())
    finally:
        await connection.execute(f"drop schema kit cascade; drop role {role}")
        await connection.close()
