"""Locks of files of a mount, by `fcntl` and by `flock`, and requests that are interrupted."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures_fuse import Mirrored, MirrorMounts
from pf_fuse.kernel.features import LOCKS
from pf_fuse.operations import Reach
from support.fuse_mounts import MirrorMount
from support.waiting import until

HOLD = """
import fcntl, sys
file = open(sys.argv[1], "r+b")
lock = fcntl.flock if sys.argv[2] == "flock" else fcntl.lockf
lock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""
LOCK = {"flock": fcntl.flock, "fcntl": fcntl.lockf}
READ = """
import sys
file = open(sys.argv[1], "rb", buffering=0)
print("reads", flush=True)
file.read(4096)
"""


def program(text: str, *arguments: str | Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", text, *map(str, arguments)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    programs: list[subprocess.Popen[str]] = []
    yield programs
    for one in programs:
        one.kill()
        one.communicate()


def said(one: subprocess.Popen[str]) -> str:
    assert one.stdout is not None
    return one.stdout.readline().strip()


@pytest.mark.parametrize("kind", ["flock", "fcntl"])
def test_a_lock_excludes_others_until_its_holder_ends(
    mirrored: Mirrored, started: list[subprocess.Popen[str]], kind: str
) -> None:
    path = mirrored.seen / "file"
    path.touch()
    holder = program(HOLD, path, kind)
    started.append(holder)
    assert said(holder) == "held"
    lock = LOCK[kind]
    with open(path, "r+b") as file:
        with pytest.raises(BlockingIOError):
            lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        holder.kill()
        lock(file, fcntl.LOCK_EX)


@pytest.mark.parametrize("kind", ["flock", "fcntl"])
def test_whoever_waits_for_a_lock_gets_it(mirrored: Mirrored, started: list[subprocess.Popen[str]], kind: str) -> None:
    path = mirrored.seen / "file"
    path.touch()
    with open(path, "r+b") as file:
        LOCK[kind](file, fcntl.LOCK_EX)
        other = program(HOLD, path, kind)
        started.append(other)
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(0.3)
    assert said(other) == "held"


@pytest.mark.parametrize("kind", ["flock", "fcntl"])
def test_without_being_asked_to_the_kernel_keeps_locks_itself(
    mirror_mounts: MirrorMounts, started: list[subprocess.Popen[str]], kind: str
) -> None:
    mount = mirror_mounts(without=int(LOCKS))
    (mount.root / "file").touch()
    holder = program(HOLD, mount.place / "file", kind)
    started.append(holder)
    assert said(holder) == "held"
    with open(mount.place / "file", "r+b") as file, pytest.raises(BlockingIOError):
        LOCK[kind](file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert mount.count("setlk") == mount.count("setlkw") == 0


def test_ranges_are_locked_apart(mirrored: Mirrored) -> None:
    path = mirrored.seen / "file"
    path.write_bytes(bytes(100))
    child_ready, parent_ready = os.pipe()
    child = os.fork()
    if child == 0:
        file = open(path, "r+b")  # noqa: SIM115  # the process ends with it
        fcntl.lockf(file, fcntl.LOCK_EX, 10, 0)
        os.write(parent_ready, b"x")
        signal.pause()
    try:
        os.read(child_ready, 1)
        with open(path, "r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 50)
            with pytest.raises(BlockingIOError):
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 5)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(child_ready)
        os.close(parent_ready)


@pytest.mark.parametrize("kind", ["flock", "fcntl"])
def test_waiting_for_a_lock_ends_with_a_signal(
    mirrored: Mirrored, started: list[subprocess.Popen[str]], kind: str
) -> None:
    path = mirrored.seen / "file"
    path.touch()
    lock = LOCK[kind]
    with open(path, "r+b") as file:
        lock(file, fcntl.LOCK_EX)
        other = program(HOLD, path, kind)
        started.append(other)
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(0.3)
        other.send_signal(signal.SIGTERM)
        assert other.wait(5) == -signal.SIGTERM
        lock(file, fcntl.LOCK_UN)
        lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def begin_to_read(mount: MirrorMount) -> subprocess.Popen[str]:
    (mount.root / "never").write_bytes(bytes(10_000))
    reader = program(READ, mount.place / "never")
    assert said(reader) == "reads"
    with pytest.raises(subprocess.TimeoutExpired):
        reader.wait(0.3)
    assert mount.statistics()["waiting"] == 1
    return reader


def test_a_read_that_has_no_answer_ends_with_a_signal(
    mirror_mounts: MirrorMounts, started: list[subprocess.Popen[str]]
) -> None:
    mount = mirror_mounts(manners={"reach": int(Reach.DIRECT)})
    reader = begin_to_read(mount)
    started.append(reader)
    reader.send_signal(signal.SIGTERM)
    assert reader.wait(5) == -signal.SIGTERM
    assert mount.statistics()["waiting"] == 0
    assert mount.statistics()["figures"]["read"]["failed"] == {str(errno.EINTR): 1}


STAT = """
import os, sys
print("asks", flush=True)
os.stat(sys.argv[1])
"""


HANDLE = """
import os, signal, sys
signal.signal(signal.SIGUSR1, lambda *_: None)
print("asks", flush=True)
os.stat(sys.argv[1])
print("found", flush=True)
"""


async def test_a_signal_that_a_program_handles_is_no_error(
    mirror_mounts: MirrorMounts, started: list[subprocess.Popen[str]]
) -> None:
    mount = mirror_mounts()
    (mount.root / "slowly-found").write_bytes(b"text")
    other = program(HANDLE, mount.place / "slowly-found")
    started.append(other)
    assert said(other) == "asks"
    await until(lambda: mount.statistics()["waiting"] == 1)
    for number in (signal.SIGUSR1, signal.SIGSTOP, signal.SIGCONT):
        other.send_signal(number)
    assert said(other) == "found"


async def test_a_signal_that_ends_a_program_does_so_after_one_that_it_handles(
    mirror_mounts: MirrorMounts, started: list[subprocess.Popen[str]]
) -> None:
    mount = mirror_mounts(manners={"reach": int(Reach.DIRECT)})
    (mount.root / "never").write_bytes(bytes(10_000))
    other = program(HANDLE.replace("os.stat(sys.argv[1])", "open(sys.argv[1], 'rb').read()"), mount.place / "never")
    started.append(other)
    await until(lambda: mount.statistics()["waiting"] == 1)
    other.send_signal(signal.SIGUSR1)
    with pytest.raises(subprocess.TimeoutExpired):
        other.wait(0.3)
    other.send_signal(signal.SIGTERM)
    assert other.wait(5) == -signal.SIGTERM


async def test_what_nobody_waits_for_any_more_is_taken_back(
    mirror_mounts: MirrorMounts, started: list[subprocess.Popen[str]]
) -> None:
    mount = mirror_mounts()
    for name, text in (("slowly-found", STAT), ("opens-slowly", READ)):
        (mount.root / name).write_bytes(b"text")
        other = program(text, mount.place / name)
        started.append(other)
        await until(lambda: mount.statistics()["waiting"] == 1)
        other.send_signal(signal.SIGTERM)
        assert other.wait(5) == -signal.SIGTERM
        assert mount.statistics()["waiting"] == 0
    failed = mount.statistics()["figures"]
    assert failed["lookup"]["failed"] == failed["open"]["failed"] == {str(errno.EINTR): 1}
    (mount.root / "slowly-found").unlink()
    await until(lambda: mount.statistics()["opened"] == 0)
    await until(lambda: len(mount.statistics()["told"]) <= 1)
    assert mount.end() == ""


def test_a_read_into_the_cache_is_given_up_by_a_signal_that_ends_the_program(
    mirror_mounts: MirrorMounts, started: list[subprocess.Popen[str]]
) -> None:
    mount = mirror_mounts()
    reader = begin_to_read(mount)
    started.append(reader)
    reader.send_signal(signal.SIGTERM)
    assert reader.wait(5) == -signal.SIGTERM
