"""Which programs a signal ends."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pf_fuse.kernel.dying import Signalled, is_dying
from support.waiting import wait_until

# Its signals wait, as those of a program do that waits for the kernel.
BLOCKED = "import signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM}); print(flush=True); input()"


@pytest.fixture
def program() -> Iterator[subprocess.Popen[bytes]]:
    with running() as program:
        yield program


@contextmanager
def running() -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", BLOCKED]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout
        program.stdout.readline()
        yield program
        program.kill()


def test_who_has_no_signal_lives(program: subprocess.Popen[bytes]) -> None:
    assert not is_dying(program.pid)


def test_who_does_not_want_a_signal_now_lives(program: subprocess.Popen[bytes]) -> None:
    program.send_signal(signal.SIGTERM)
    assert not is_dying(program.pid)


def test_the_name_of_a_program_may_end_amid_a_character(tmp_path: Path) -> None:
    named = tmp_path / "daten-zerlegerün"
    shutil.copy("/bin/sleep", named)
    with subprocess.Popen([named, "60"]) as program:
        try:
            wait_until(lambda: b"\xc3\n" in Path(f"/proc/{program.pid}/status").read_bytes())
            assert not is_dying(program.pid)
        finally:
            program.kill()


def test_who_is_killed_amid_a_stop_is_gone_or_dying(program: subprocess.Popen[bytes]) -> None:
    program.send_signal(signal.SIGSTOP)
    assert not is_dying(program.pid)
    program.kill()
    program.wait()
    assert is_dying(program.pid)


def test_who_is_noted_as_another_is_given_up_is_watched_too(program: subprocess.Popen[bytes]) -> None:
    waiting = {1, 2, 3}

    def give_up(unique: int) -> None:
        waiting.discard(unique)
        if unique == 1:
            signalled.note(3, program.pid)

    signalled = Signalled(waiting.__contains__, give_up)
    with running() as first:
        signalled.note(1, first.pid)
        signalled.note(2, threading.get_native_id())
        first.kill()
    wait_until(lambda: 1 not in waiting)
    program.kill()
    program.wait()
    wait_until(lambda: 3 not in waiting)
    waiting.clear()
