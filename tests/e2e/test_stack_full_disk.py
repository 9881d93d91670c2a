"""A disk that is full, under a running stack: changes are refused while it is, and nothing stops for good."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddleflow import PaddleFlow
from paddleflow.models.queues import Queue
from paddleflow.problems import DatabaseUnavailable, Problem
from support.stacks import Stack, new_stack, wait_until

pytestmark = [pytest.mark.xdist_group("stack"), pytest.mark.timeout(240)]

SIZE = "400m"
"""A new stack takes about half of it."""
MORE_THAN_FIT = 3000
"""Changes that write more than what is left in the pages and files that Postgres has already."""


@pytest.fixture
def small() -> Iterator[Stack]:
    """A stack that runs on a small disk of its own."""
    with new_stack() as stack:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=755", "tmpfs", stack.folder], check=True)
        try:
            stack.pf("up")
            yield stack
        finally:
            (stack.folder / "filler").unlink(missing_ok=True)
            subprocess.run(stack.command("down"), **stack.options())
            subprocess.run(["umount", "--lazy", stack.folder], check=True)


def fill(disk: Path) -> Path:
    """Takes all the room that there is; the file that has it."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (1_000_000, 4096, 1):
            while write(file.fileno(), size):
                pass
    return filler


def write(file: int, size: int) -> bool:
    try:
        return os.write(file, bytes(size)) == size
    except OSError as problem:
        if problem.errno != errno.ENOSPC:
            raise
        return False


def first_refusal(client: PaddleFlow) -> Problem:
    for number in range(MORE_THAN_FIT):
        try:
            client.queues.create(Queue(f"full-{number}", max={"cpu": 1000}))
        except Problem as problem:
            return problem
    raise AssertionError("everything was accepted")


def accepts(client: PaddleFlow) -> bool:
    try:
        client.queues.create(Queue("roomy", max={"cpu": 1000}))
    except Problem:
        return False
    return True


def test_changes_are_refused_while_the_disk_is_full_and_accepted_when_there_is_room(small: Stack) -> None:
    with small.connect() as client:
        assert client.queues.get("default-queue").name == "default-queue"
        filler = fill(small.folder)
        assert isinstance(first_refusal(client), DatabaseUnavailable)
        assert client.queues.get("default-queue").name == "default-queue"
        filler.unlink()
        wait_until(lambda: accepts(client))
    assert small.status()["ready"]


def test_what_dies_while_the_disk_is_full_comes_back_when_there_is_room(small: Stack) -> None:
    supervisor = small.pid("supervisor")
    filler = fill(small.folder)
    for name in ("postgres", "valkey", "queue"):
        small.kill(name)
    # What dies may free a block, so that the state is written down after all.
    small.pf("status", status=3)
    wait_until(lambda: "No space left on device" in small.pf("logs", "postgres", "supervisor"))
    filler.unlink()
    wait_until(lambda: bool(small.status()["ready"]))
    with small.connect() as client:
        assert accepts(client)
    assert small.pid("supervisor") == supervisor
