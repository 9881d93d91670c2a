"""What runs first in the container of a holder: it starts that again, and lets nobody end with work left to do."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.repository import ROOT
from support.waiting import wait_until

KEEP = ROOT / "deploy" / "docker" / "keep.sh"
HOLDER = """
echo $$ >> {folder}/holders
test -e {folder}/client || setsid sh -c '
    trap "sleep 0.2; echo uploaded > {folder}/end; exit" TERM
    echo $$ > {folder}/client
    while :; do sleep 0.05; done' &
test ! -e {folder}/refuse || exit 3
trap 'exit 0' TERM
while :; do sleep 0.05; done
"""
Keep = Callable[[], "subprocess.Popen[bytes]"]


@pytest.fixture
def keep(tmp_path: Path) -> Iterator[Keep]:
    """Starts it as the first process of a container, with a holder that has one client."""
    begun: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        container = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        script = HOLDER.format(folder=tmp_path)
        begun.append(subprocess.Popen([*container, KEEP, "sh", "-c", script]))
        return begun[-1]

    yield start
    for process in begun:
        process.kill()
        process.wait()


def test_a_killed_holder_is_followed_and_its_clients_go_on(keep: Keep, tmp_path: Path) -> None:
    process = keep()
    wait_until(lambda: client(tmp_path) > 0)
    os.kill(inner(process, holders(tmp_path)[-1]), signal.SIGKILL)
    wait_until(lambda: len(holders(tmp_path)) == 2)
    assert inner(process, client(tmp_path))


def test_its_end_waits_for_clients(keep: Keep, tmp_path: Path) -> None:
    process = keep()
    wait_until(lambda: client(tmp_path) > 0)
    os.kill(inner(process, 1), signal.SIGTERM)
    assert process.wait(20) == 0
    assert (tmp_path / "end").read_text() == "uploaded\n"
    assert len(holders(tmp_path)) == 1


def test_a_holder_that_ends_by_itself_ends_the_container(keep: Keep, tmp_path: Path) -> None:
    (tmp_path / "refuse").touch()
    (tmp_path / "client").write_text("0")
    assert keep().wait(20) == 3


def holders(folder: Path) -> list[int]:
    """All that were begun, by their numbers in the container."""
    return [int(line) for line in (folder / "holders").read_text().split()]


def client(folder: Path) -> int:
    """By its number in the container; 0 before it is there."""
    told = folder / "client"
    return int(told.read_text() or 0) if told.exists() else 0


def inner(container: subprocess.Popen[bytes], number: int) -> int:
    """A process of the container, as it is known outside; fails if there is none."""
    mine = Path(f"/proc/{container.pid}/ns/pid_for_children").readlink()
    for path in Path("/proc").iterdir():
        known = numbers(path) if path.name.isdigit() else []
        if len(known) > 1 and known[-1] == number and (path / "ns" / "pid").readlink() == mine:
            return int(path.name)
    raise AssertionError(f"the container has no process {number}")


def numbers(process: Path) -> list[int]:
    """Of a process in all namespaces, its own last."""
    try:
        lines = (process / "status").read_text().splitlines()
    except OSError:
        return []
    return [int(word) for line in lines if line.startswith("NSpid:") for word in line.split()[1:]]
