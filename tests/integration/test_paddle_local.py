"""`paddle local job` with real processes."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.repository import BIN

PATIENCE = 30.0
TALK = """
import os, socket
host, port = os.environ["PADDLE_PSERVERS_IP_PORT_LIST"].split(":")
if os.environ["TRAINING_ROLE"] == "PSERVER":
    with socket.create_server((host, int(port))) as server:
        print("serves", flush=True)
        while True:
            caller, _ = server.accept()
            caller.sendall(b"weights")
            caller.close()
while True:
    try:
        with socket.create_connection((host, int(port))) as call:
            got = call.makefile("rb").read().decode()
            break
    except ConnectionRefusedError:
        pass
with open(os.path.join(os.environ["OUTPUT"], os.environ["PADDLE_TRAINER_ID"]), "w") as file:
    file.write(got)
print("got", got)
"""
STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
print("stubborn", os.getpid(), child.pid, flush=True)
time.sleep(1000)
"""
ENDLESS = """
import os
print(os.getpid(), flush=True)
while True:
    print("more")
"""
ONE_FAILS = """
import os, sys, time
if os.environ["PADDLE_TRAINER_ID"] == "1":
    sys.exit(7)
time.sleep(1000)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "demo"
    folder.mkdir()
    programs = {
        "talk": TALK,
        "stubborn": STUBBORN,
        "fails": ONE_FAILS,
        "endless": ENDLESS,
        "words": "import sys; print(sys.argv[1:])",
    }
    for name, text in programs.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def paddle(package: Path, words: str, timeout: float = PATIENCE) -> subprocess.CompletedProcess[str]:
    command = [str(BIN / "paddle"), "local", "job", "mnist", "--package-path", str(package), *words.split()]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=package.parent)


def alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def gone(pids: list[int]) -> bool:
    deadline = time.monotonic() + PATIENCE
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not any(map(alive, pids))


def test_trainers_find_their_server_which_is_ended_with_them(package: Path) -> None:
    told = paddle(package, "--module demo.talk --pserver-count 1 --trainer-count 2 --output out")
    assert (told.returncode, told.stderr) == (0, "")
    assert sorted(told.stdout.splitlines()) == ["pserver/0: serves", "worker/0: got weights", "worker/1: got weights"]
    assert [path.read_text() for path in sorted((package.parent / "out").iterdir())] == ["weights", "weights"]


def test_one_process_prints_as_it_does_and_gets_its_arguments(package: Path) -> None:
    told = paddle(package, "--module-name words --input . -- --epochs 3")
    assert (told.returncode, told.stdout) == (0, f"['--input={package.parent}', '--epochs', '3']\n")


def test_the_first_process_that_fails_ends_all_with_its_status(package: Path) -> None:
    told = paddle(package, "--module fails --trainer-count 3")
    assert told.returncode == 7
    assert told.stderr == "worker/1 ended with exit status 7; the others are ended\n"


@contextmanager
def stubborn(package: Path) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A job of two processes that do not listen, each with a child; and the numbers of all four."""
    command = [str(BIN / "paddle"), "local", "job", "m", "--package-path", str(package), "--module", "stubborn"]
    with subprocess.Popen(
        [*command, "--trainer-count", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        pids = [int(word) for _ in range(2) for word in running.stdout.readline().split()[2:]]
        assert len(pids) == 4
        try:
            yield running, pids
        finally:
            running.kill()
            for pid in filter(alive, pids):
                os.kill(pid, signal.SIGKILL)


def test_a_second_signal_kills_those_that_do_not_listen_to_the_first(package: Path) -> None:
    with stubborn(package) as (running, pids):
        assert running.stderr is not None
        running.send_signal(signal.SIGINT)
        assert "interrupted" in running.stderr.readline()
        assert all(map(alive, pids))
        running.send_signal(signal.SIGINT)
        assert running.wait(PATIENCE) == 130
    assert gone(pids)


def test_a_process_that_is_killed_is_told_as_shells_do_and_takes_its_children_along(package: Path) -> None:
    with stubborn(package) as (running, pids):
        assert running.stderr is not None
        os.kill(pids[0], signal.SIGKILL)
        assert "ended with signal 9; the others are ended" in running.stderr.readline()
        running.send_signal(signal.SIGINT)
        assert running.wait(PATIENCE) == 137
    assert gone(pids)


def test_all_that_was_written_comes_also_to_those_who_let_it_wait(package: Path) -> None:
    (package / "much.py").write_text("import sys; sys.stdout.write('x' * 99 + '\\n'); print('y' * 300_000, end='')")
    words = [str(BIN / "paddle"), "local", "job", "m", "--package-path", str(package), "--module", "much"]
    command = f"{shlex.join(words)} --trainer-count 2 | (sleep 3; cat)"
    told = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=PATIENCE)
    lines = [line.partition(": ") for line in told.stdout.splitlines()]
    for worker in ("worker/0", "worker/1"):
        assert [rest for name, _, rest in lines if name == worker] == ["x" * 99, "y" * 300_000]


def test_nothing_goes_on_when_nobody_takes_the_output_any_more(package: Path) -> None:
    words = [str(BIN / "paddle"), "local", "job", "m", "--package-path", str(package), "--module", "endless"]
    command = f"{shlex.join(words)} --trainer-count 2 | head -n 2"
    told = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=PATIENCE)
    pids = [int(word) for word in told.stdout.split() if word.isdecimal()]
    assert pids
    assert gone(pids)
    assert "Traceback" not in told.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--module words --input nowhere", "input: there is no folder nowhere"),
        ("--module words --output demo/words.py", "output: demo/words.py cannot be made: File exists"),
        ("--module wrods", "has no module wrods"),
    ],
)
def test_what_makes_no_sense_is_told_before_anything_runs(package: Path, words: str, why: str) -> None:
    told = paddle(package, words)
    assert (told.returncode, told.stdout) == (1, "")
    assert why in told.stderr
