"""`pf up`, `status`, `down`: from the first start to the last process gone."""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from paddleflow.models.queues import Queue
from pf_kit.embedded.processes import identify
from support.repository import BIN
from support.stacks import Stack, all_gone, new_stack
from support.walking import below, contents

pytestmark = [pytest.mark.xdist_group("stack"), pytest.mark.timeout(180)]


def test_the_first_start_shows_the_password_once_and_it_is_kept_for_the_client_only(
    stack: Stack, first_words: str
) -> None:
    found = re.search(r"Password of root: (\S+)", first_words)
    assert found is not None
    assert stack.entry.password == found[1]
    assert found[1] not in stack.pf("up")
    holders = [file for file, content in contents(stack.data) if found[1].encode() in content]
    assert holders == [stack.data / "client" / "paddleflow.ini"]


def test_the_command_line_works_at_once(stack: Stack) -> None:
    options = stack.options()
    options["env"]["PADDLEFLOW_CONFIG"] = str(stack.data / "client" / "paddleflow.ini")
    command = [str(BIN / "paddleflow"), "--output", "json", "queue", "show", "default-queue"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True, **options)
    assert '"name": "default-queue"' in listed.stdout


def test_another_data_folder_than_the_default_leaves_the_home_alone(stack: Stack, first_words: str) -> None:
    assert not (stack.home / ".paddleflow").exists()
    assert f"export PADDLEFLOW_CONFIG={stack.data}/client/paddleflow.ini" in first_words


def modes(top: Path) -> Iterator[tuple[Path, int]]:
    """Of all that is no link."""
    for path in (top, *below(top)):
        # Databases make and remove files all the time.
        with suppress(FileNotFoundError):
            mode = path.lstat().st_mode
            if not stat.S_ISLNK(mode):
                yield path, mode


def test_nobody_else_reads_what_is_kept(stack: Stack) -> None:
    everything = list(modes(stack.data))
    assert [path for path, mode in everything if mode & 0o022] == []
    # These hold no secret, and another account runs Postgres if we are root.
    public = {stack.data / "bin", stack.data / "postgres-settings"}
    kept = [(path, mode) for path, mode in everything if public.isdisjoint((path, *path.parents))]
    assert [path for path, mode in kept if stat.S_ISREG(mode) and mode & 0o077] == []
    assert [path for path, mode in kept if stat.S_ISDIR(mode) and mode & 0o066] == []
    assert stat.S_IMODE((stack.data / "keys").stat().st_mode) == 0o700


def test_status_tells_what_runs_where_and_what_it_costs(stack: Stack) -> None:
    status = stack.status()
    assert status["ready"]
    assert [process["name"] for process in status["processes"]] == [
        "supervisor",
        "postgres",
        "valkey",
        "queue",
        "fs",
        "job",
        "pipeline",
    ]
    assert all(process["pss_bytes"] > 1_000_000 for process in status["processes"])
    assert status["pss_bytes"] == sum(process["pss_bytes"] for process in status["processes"])
    queue = stack.processes()["queue"]
    assert queue["address"] == f"127.0.0.1:{stack.port}"
    assert queue["address"] in stack.pf("status")


def test_an_up_of_what_is_up_changes_nothing(stack: Stack) -> None:
    before = stack.identities()
    assert "up already" in stack.pf("up")
    assert stack.identities() == before


def test_down_leaves_no_process_and_a_restart_keeps_ports_and_data(stack: Stack) -> None:
    with stack.connect() as client:
        client.queues.create(Queue("kept-over-restarts", max={"cpu": 1000}))
    before, address = stack.identities(), stack.port
    assert "is down" in stack.pf("down")
    assert all_gone(before)
    assert "Nothing was running" in stack.pf("down")
    assert "Nothing runs" in stack.pf("status", status=3)
    stack.pf("up")
    assert stack.port == address
    with stack.connect() as client:
        assert client.queues.get("kept-over-restarts").max == {"cpu": 1000}


def test_a_port_that_was_taken_meanwhile_is_given_up(stack: Stack) -> None:
    stack.pf("down")
    before = stack.port
    with socket.socket() as intruder:
        # Connections that ended just now do not count.
        intruder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        intruder.bind(("127.0.0.1", before))
        intruder.listen()
        assert f"port {before} of queue is taken" in stack.pf("doctor")
        stack.pf("up")
    assert stack.port != before
    with stack.connect() as client:
        assert client.queues.get("default-queue").name == "default-queue"


def test_two_starts_at_once_give_one_stack(stack: Stack) -> None:
    stack.pf("down")
    starts = [stack.start("up") for _ in range(2)]
    words = [start.communicate(timeout=90)[0] for start in starts]
    assert [start.returncode for start in starts] == [0, 0], words
    assert stack.status()["ready"]
    assert len({start["pid"] for start in stack.processes().values()}) == 7


def test_what_is_written_down_of_a_dead_stack_harms_no_other_process(stack: Stack) -> None:
    stack.pf("down")
    own = identify(os.getpid())
    assert own is not None
    state = json.loads((stack.data / "state.json").read_text())
    # The numbers of the dead have gone to this process by now.
    reused = {"pid": own.pid, "started": own.started - 1, "boot": own.boot}
    state["supervisor"] = reused
    for process in state["processes"]:
        process["identity"] = reused
    (stack.data / "state.json").write_text(json.dumps(state))
    assert "Nothing was running" in stack.pf("down")
    stack.pf("up")
    assert stack.status()["ready"]


def test_two_stacks_live_side_by_side(stack: Stack) -> None:
    with new_stack(name="Füße, it's [100] % & more; #1") as other:
        other.pf("up")
        with stack.connect() as ours, other.connect() as theirs:
            theirs.queues.create(Queue("only-there", max={"cpu": 1000}))
            assert "only-there" not in [queue.name for queue in ours.queues.list()]
        assert {other.port, stack.port} == {other.port} ^ {stack.port}
        other.pf("down")
        assert stack.status()["ready"]
