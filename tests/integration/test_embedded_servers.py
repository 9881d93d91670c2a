"""Postgres and Valkey as children: started, killed, orphaned, and never two on one folder."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import pytest
from redis.asyncio import Redis

from pf_kit.embedded import postgres as embedded
from pf_kit.embedded import processes
from pf_kit.embedded.backends import embedded_postgres, embedded_valkey
from pf_kit.embedded.component import running
from pf_kit.embedded.postgres import Postgres
from pf_kit.embedded.processes import is_alive, occupants
from pf_kit.embedded.refusal import Refusal
from pf_kit.embedded.valkey import Valkey
from support.servers import short_folder

PATIENCE = 20.0

SHOWN = {
    "listen_addresses": "",
    "fsync": "on",
    "data_checksums": "on",
    "server_encoding": "UTF8",
    "lc_messages": "C",
    "unix_socket_permissions": "0700",
    "timezone": "UTC",
}
"""What must be so, whatever the machine's own settings are."""

KEEPER = """
import asyncio, sys
from pathlib import Path
from pf_kit.embedded import postgres as embedded
from pf_kit.embedded import processes
from pf_kit.embedded.backends import embedded_postgres, embedded_valkey
from pf_kit.embedded.component import running

async def main(home):
    postgres, valkey = embedded_postgres(home, home / "run"), embedded_valkey(home, home / "run")
    async with running(postgres, home / "p.log"), running(valkey, home / "v.log"):
        print(flush=True)
        await asyncio.sleep(60)

asyncio.run(main(Path(sys.argv[1])))
"""


pytestmark = pytest.mark.xdist_group("embedded-servers")


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A data folder for all tests of this module: to set one up takes longer than they do. Each leaves it stopped."""
    folder = short_folder()
    yield folder / "data"
    shutil.rmtree(folder)


@pytest.fixture
def postgres(home: Path) -> Postgres:
    return embedded_postgres(home, home / "run")


@pytest.fixture
def valkey(home: Path) -> Valkey:
    return embedded_valkey(home, home / "run")


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        if condition():
            return
        assert time.monotonic() < deadline, "does not come true"
        await asyncio.sleep(0.02)


async def query(postgres: Postgres, sql: str) -> object:
    connection = await asyncpg.connect(postgres.dsn)
    try:
        return await connection.fetchval(sql)
    finally:
        await connection.close()


async def test_postgres_keeps_what_was_committed_over_a_kill(home: Path, postgres: Postgres) -> None:
    log = home / "postgres.log"
    async with running(postgres, log) as child:
        await query(postgres, "create table if not exists kept as select 1 as n")
        os.kill(child.pid, signal.SIGKILL)
        assert await child.wait() == -signal.SIGKILL
    # At once: its children are still dying, and hold the shared memory.
    async with running(postgres, log):
        assert await query(postgres, "select n from kept") == 1


async def test_a_postgres_that_cannot_be_seen_from_here_keeps_its_data_to_itself(
    home: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "ALONE_SECONDS", 0.2)
    # As from another container: no process is seen there.
    monkeypatch.setattr(processes, "PROC", home)
    async with running(postgres, home / "postgres.log") as child:
        own = (postgres.cluster / "postmaster.pid").read_bytes()
        with pytest.raises(Refusal, match="another Postgres works on"):
            await postgres.prepare()
        assert (postgres.cluster / "postmaster.pid").read_bytes() == own
        assert child.is_running
    await postgres.prepare()


async def test_postgres_is_set_up_as_promised(home: Path, postgres: Postgres) -> None:
    async with running(postgres, home / "postgres.log"):
        assert {name: await query(postgres, f"show {name}") for name in SHOWN} == SHOWN
    assert postgres.account.uid != 0
    for folder in (postgres.cluster, postgres.sockets):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert folder.stat().st_uid == postgres.account.uid


async def test_valkey_keeps_what_it_was_given_over_a_kill(home: Path, valkey: Valkey) -> None:
    async with running(valkey, home / "valkey.log") as child, Redis.from_url(valkey.url) as client:
        await client.xadd("events", {"n": "1"})
        os.kill(child.pid, signal.SIGKILL)
        assert await child.wait() == -signal.SIGKILL
    async with running(valkey, home / "valkey.log"), Redis.from_url(valkey.url) as client:
        assert await client.xlen("events") == 1


async def test_children_end_with_their_parent_and_can_be_started_again_at_once(
    home: Path, postgres: Postgres, valkey: Valkey
) -> None:
    keeper = await asyncio.create_subprocess_exec(sys.executable, "-c", KEEPER, str(home), stdout=subprocess.PIPE)
    assert keeper.stdout is not None
    await keeper.stdout.readline()
    orphans = [*occupants(postgres.cluster, ["postgres"]), *occupants(valkey.store, ["valkey-server"])]
    keeper.kill()
    await keeper.wait()
    assert len(orphans) > 2
    async with running(postgres, home / "p.log"), running(valkey, home / "v.log"):
        assert not any(map(is_alive, orphans))


async def test_a_server_without_a_keeper_is_ended_before_another_starts(home: Path, postgres: Postgres) -> None:
    await postgres.prepare()
    account = postgres.account if os.geteuid() == 0 else None
    orphan = await asyncio.create_subprocess_exec(
        *postgres.program().argv,
        stderr=subprocess.DEVNULL,
        user=account.uid if account else None,
        group=account.gid if account else None,
    )
    await until((postgres.cluster / "postmaster.pid").exists)
    async with running(postgres, home / "postgres.log"):
        assert await orphan.wait() == 0
        assert await query(postgres, "select 1") == 1


async def test_a_lock_file_that_names_another_process_by_now_is_no_obstacle(home: Path, postgres: Postgres) -> None:
    async with running(postgres, home / "postgres.log") as child:
        lock = (postgres.cluster / "postmaster.pid").read_text()
        os.kill(child.pid, signal.SIGKILL)
        await child.wait()
    # What is found after a restart of the machine, when the number has gone to something else.
    (postgres.cluster / "postmaster.pid").write_text(lock.replace(str(child.pid), str(os.getpid()), 1))
    async with running(postgres, home / "postgres.log"):
        assert await query(postgres, "select 1") == 1


async def test_an_interrupted_set_up_is_begun_anew(home: Path, postgres: Postgres) -> None:
    leftover = home / "postgres.new"
    leftover.mkdir()
    shutil.rmtree(postgres.cluster, ignore_errors=True)
    (leftover / "PG_VERSION").write_text("half")
    async with running(postgres, home / "postgres.log"):
        assert await query(postgres, "select current_database()") == "paddleflow"
    assert not leftover.exists()


async def test_data_of_another_version_are_refused_with_the_remedy(postgres: Postgres) -> None:
    await postgres.prepare()
    version = (postgres.cluster / "PG_VERSION").read_text()
    (postgres.cluster / "PG_VERSION").write_text("9\n")
    with pytest.raises(Refusal, match=r"was made by Postgres 9, .*\n.*pf backup"):
        await postgres.prepare()
    (postgres.cluster / "PG_VERSION").write_text(version)


async def test_a_server_that_does_not_start_is_quoted(home: Path, postgres: Postgres) -> None:
    await postgres.prepare()
    (postgres.cluster / "postgresql.auto.conf").write_text("shared_buffers = nonsense\n")
    with pytest.raises(Refusal, match=r"postgres does not start:\n(.|\n)*nonsense"):
        async with running(postgres, home / "postgres.log"):
            pytest.fail("it started")
    (postgres.cluster / "postgresql.auto.conf").write_text("")


def test_a_parent_folder_that_shuts_the_account_out_is_named_and_left_as_it_is(home: Path) -> None:
    home.parent.chmod(0o600)
    try:
        with pytest.raises(Refusal, match=str(home.parent)):
            embedded_postgres(home, home / "run")
        assert stat.S_IMODE(home.parent.stat().st_mode) == 0o600
    finally:
        home.parent.chmod(0o755)
