"""The stack of an ordinary user, in the user's own home."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddleflow.models.queues import Queue
from support.ordinary import ordinary_python
from support.servers import short_folder
from support.stacks import Stack, all_gone, new_stack, wait_until

pytestmark = [pytest.mark.xdist_group("stack"), pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def users_stack() -> Iterator[Stack]:
    with ordinary_python() as runner, new_stack(runner=runner, is_default=True) as stack:
        stack.home.mkdir(mode=0o700)
        if "user" in runner.account:
            os.chown(stack.home, runner.account["user"], runner.account["group"])
        stack.pf("up")
        yield stack


def test_everything_is_the_users_and_below_the_home(users_stack: Stack) -> None:
    owner = users_stack.home.stat().st_uid
    assert owner != 0
    assert {path.lstat().st_uid for path in users_stack.home.rglob("*")} == {owner}
    processes = [process for process in users_stack.processes().values() if process["pid"]]
    assert {Path(f"/proc/{process['pid']}").stat().st_uid for process in processes} == {owner}


def test_the_client_in_the_home_works_without_a_word_of_configuration(users_stack: Stack) -> None:
    command = [users_stack.runner.python, "-P", "-m", "paddleflow.cli", "queue", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, **users_stack.options())
    assert "default-queue" in listed.stdout, listed.stderr


def test_a_users_stack_survives_kills_and_goes_down(users_stack: Stack) -> None:
    with users_stack.connect() as client:
        client.queues.create(Queue("kept", max={"cpu": 1000}))
        before = users_stack.pid("postgres")
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: users_stack.status()["ready"] and users_stack.pid("postgres") != before)
        assert client.queues.get("kept").name == "kept"
    everything = users_stack.identities()
    users_stack.pf("down")
    assert all_gone(everything)


def test_a_folder_of_somebody_else_is_refused_and_left_alone(users_stack: Stack) -> None:
    folder = short_folder()
    (folder / "others").write_text("precious")
    try:
        said = users_stack.pf("up", "--data", str(folder), status=1)
        assert "not a data folder of PaddleFlow" in said
        assert [path.name for path in folder.iterdir()] == ["others"]
        folder.chmod(0o555)
        assert "cannot be made" in users_stack.pf("up", "--data", str(folder / "new" / "one"), status=1)
    finally:
        folder.chmod(0o755)
        (folder / "others").unlink()
        folder.rmdir()
