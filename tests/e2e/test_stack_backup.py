"""`pf backup` and `pf restore`: what was there is there again, and nobody goes on from a future that never was."""

from __future__ import annotations

import signal
import stat
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import asyncpg
import pytest

import paddleflow
from paddleflow.models.queues import Queue
from paddleflow.models.watches import Bookmark, Change, Reset
from support.stacks import Stack, new_stack, processes_of, wait_until
from support.waiting import until

pytestmark = [pytest.mark.xdist_group("stack"), pytest.mark.timeout(180)]


@dataclass(frozen=True, slots=True)
class Backup:
    """A back-up, and a place in the events that it does not know."""

    file: Path
    later_token: str


@pytest.fixture(scope="module")
def backup(started: tuple[Stack, str], tmp_path_factory: pytest.TempPathFactory) -> Backup:
    stack, file = started[0], tmp_path_factory.mktemp("backup") / "paddleflow.tar"
    with stack.connect() as client:
        client.queues.create(Queue("backed-up", max={"cpu": 1000}))
        stack.pf("backup", str(file))
        client.queues.create(Queue("came-later", max={"cpu": 1000}))
        return Backup(file, caught_up(client))


def caught_up(client: paddleflow.PaddleFlow) -> str:
    """The token after all that exists."""
    for item in client.queues.watch():
        if isinstance(item, Bookmark) and item.caught_up:
            return item.resume_token
    raise AssertionError("the watch ended")


@pytest.fixture(scope="module")
def restored(backup: Backup) -> Iterator[Stack]:
    with new_stack() as stack:
        said = stack.pf("restore", str(backup.file), "--data", str(stack.data))
        assert f"pf up --data {stack.data}" in said
        stack.pf("up")
        yield stack


def test_a_back_up_is_the_owners_alone_and_is_never_overwritten(stack: Stack, backup: Backup) -> None:
    assert stat.S_IMODE(backup.file.stat().st_mode) == 0o600
    content = backup.file.read_bytes()
    assert "is there already" in stack.pf("backup", str(backup.file), status=1)
    assert backup.file.read_bytes() == content
    assert [path.name for path in backup.file.parent.iterdir()] == [backup.file.name]


def test_what_was_there_is_there_again_with_its_passwords_and_its_installation(stack: Stack, restored: Stack) -> None:
    assert restored.entry.password == stack.entry.password
    with restored.connect() as client, stack.connect() as original:
        names = [queue.name for queue in client.queues.list()]
        assert "backed-up" in names
        assert "came-later" not in names
        assert client.info.get().installation == original.info.get().installation
        client.queues.create(Queue("came-later", max={"cpu": 2000}))


def test_the_keys_of_all_services_come_with_it(stack: Stack, restored: Stack) -> None:
    for name in ("signing.pem", "credential.key", "filesystems.keys"):
        key = restored.data / "keys" / name
        assert key.read_bytes() == (stack.data / "keys" / name).read_bytes()
        assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_a_watcher_of_the_old_stack_is_told_to_start_over(restored: Stack, backup: Backup) -> None:
    with restored.connect() as client:
        items = client.queues.watch(resume_token=backup.later_token)
        assert isinstance(next(items), Reset)
        assert isinstance(next(items), Change)


def test_a_back_up_holds_one_moment_while_the_stack_is_at_work(stack: Stack, tmp_path: Path) -> None:
    made, done = [], threading.Event()

    def work() -> None:
        with stack.connect() as client:
            for number in count():
                if done.is_set():
                    return
                client.queues.create(Queue(f"busy-{number}", max={"cpu": 1000}))
                made.append(number)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        wait_until(lambda: len(made) > 5)
        stack.pf("backup", str(tmp_path / "busy.tar"))
    finally:
        done.set()
        worker.join()
    with new_stack() as later:
        later.pf("restore", str(tmp_path / "busy.tar"), "--data", str(later.data))
        later.pf("up")
        with later.connect() as client:
            kept = sorted(int(queue.name.removeprefix("busy-")) for queue in client.queues.list(name_prefix="busy-"))
    # Everything up to one moment, and nothing after it.
    assert kept == list(range(len(kept)))
    assert 5 < len(kept) <= len(made)


def test_a_restore_wants_a_new_folder_and_a_whole_back_up_and_leaves_nothing_of_a_failure(
    stack: Stack, backup: Backup, tmp_path: Path
) -> None:
    assert "is not empty" in stack.pf("restore", str(backup.file), "--data", str(stack.data), status=1)
    assert stack.status()["ready"]
    damaged = tmp_path / "damaged.tar"
    content = bytearray(backup.file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    damaged.write_bytes(content)
    target = stack.folder / "target"
    assert "not a whole back-up" in stack.pf("restore", str(damaged), "--data", str(target), status=1)
    assert not target.exists()
    assert "No such file" in stack.pf("restore", str(tmp_path / "none.tar"), "--data", str(target), status=1)
    assert not target.exists()


def test_only_a_running_stack_is_backed_up(tmp_path: Path) -> None:
    with new_stack() as stack:
        assert f"pf up --data {stack.data}" in stack.pf("backup", str(tmp_path / "b.tar"), status=1)
        assert not stack.data.exists()
    assert list(tmp_path.iterdir()) == []


def test_what_the_user_set_for_postgres_does_not_reach_the_back_up(stack: Stack, tmp_path: Path) -> None:
    options = stack.options()
    options["env"]["PGOPTIONS"] = "-c no_such_setting=1"
    command = stack.command("backup", str(tmp_path / "b.tar"))
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_an_interrupted_back_up_leaves_nothing(stack: Stack, tmp_path: Path, number: signal.Signals) -> None:
    connection = await asyncpg.connect(
        host=str(stack.layout.sockets / "postgres"), user="paddleflow", database="paddleflow"
    )
    await connection.execute("create table held ()")
    try:
        async with connection.transaction():
            # pg_dump waits for it.
            await connection.execute("lock table held in access exclusive mode")
            backing = stack.start("backup", str(tmp_path / "b.tar"))
            await until(lambda: len(list(processes_of(tmp_path))) == 2)
            backing.send_signal(number)
            said, _ = backing.communicate(timeout=30)
    finally:
        await connection.execute("drop table held")
        await connection.close()
    assert backing.returncode == 1, said
    assert list(processes_of(tmp_path)) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_restore_leaves_nothing(backup: Backup, number: signal.Signals) -> None:
    with new_stack() as stack:
        restoring = stack.start("restore", str(backup.file), "--data", str(stack.data))
        wait_until((stack.data / "postgres").exists)
        restoring.send_signal(number)
        said, _ = restoring.communicate(timeout=30)
        assert restoring.returncode == 1, said
        assert "Traceback" not in said
        assert list(processes_of(stack.data)) == []
        assert not stack.data.exists()
