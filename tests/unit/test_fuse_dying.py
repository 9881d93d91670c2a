"""Which programs a signal ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from pf_fuse.kernel.dying import is_dying

# Its signals wait, as those of a program do that waits for the kernel.
BLOCKED = "import signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM}); print(flush=True); input()"


@pytest.fixture
def program() -> Iterator[subprocess.Popen[bytes]]:
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


def test_who_is_killed_amid_a_stop_is_gone_or_dying(program: subprocess.Popen[bytes]) -> None:
    program.send_signal(signal.SIGSTOP)
    assert not is_dying(program.pid)
    program.kill()
    program.wait()
    assert is_dying(program.pid)
