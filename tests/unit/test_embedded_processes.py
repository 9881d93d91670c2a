"""Processes told apart from others that got the same number later."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pf_kit.embedded.processes import Identity, end, identify, is_alive, occupants, vacate
from pf_kit.embedded.refusal import Refusal

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('', flush=True); time.sleep(60)"


@pytest.fixture
def stubborn() -> Iterator[subprocess.Popen[bytes]]:
    """A process that ignores SIGTERM."""
    with subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def known(pid: int) -> Identity:
    identity = identify(pid)
    assert identity is not None
    return identity


def test_a_process_is_known_by_its_number_and_the_time_of_its_start(stubborn: subprocess.Popen[bytes]) -> None:
    identity = known(stubborn.pid)
    assert is_alive(identity)
    assert not is_alive(replace(identity, started=identity.started + 1))
    assert not is_alive(replace(identity, boot="another life of this machine"))
    assert known(os.getpid()) != identity


def test_what_is_left_of_a_dead_process_does_not_count(stubborn: subprocess.Popen[bytes]) -> None:
    identity = known(stubborn.pid)
    stubborn.kill()
    os.waitid(os.P_PID, stubborn.pid, os.WEXITED | os.WNOWAIT)
    assert Path(f"/proc/{stubborn.pid}").exists()
    assert not is_alive(identity)


def test_there_is_no_process_of_an_unused_number() -> None:
    assert identify(2**22 + 1) is None


async def test_signals_are_sent_until_one_helps(stubborn: subprocess.Popen[bytes]) -> None:
    assert await end(known(stubborn.pid), [(signal.SIGTERM, 0.1), (signal.SIGKILL, 5.0)])
    assert stubborn.wait() == -signal.SIGKILL


async def test_who_outlives_all_signals_is_told_of(stubborn: subprocess.Popen[bytes]) -> None:
    assert not await end(known(stubborn.pid), [(signal.SIGTERM, 0.1)])
    assert stubborn.poll() is None


async def test_a_process_that_only_has_the_same_number_is_left_alone(stubborn: subprocess.Popen[bytes]) -> None:
    earlier = replace(known(stubborn.pid), started=1)
    assert await end(earlier, [(signal.SIGKILL, 5.0)])
    assert stubborn.poll() is None


async def test_a_process_that_is_gone_needs_no_signal() -> None:
    assert await end(Identity(2**22 + 1, 0, ""), [(signal.SIGKILL, 5.0)])


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a folder of its own."""
    program = Path(shutil.which("sleep") or "/bin/sleep").resolve()
    with subprocess.Popen([program, "60"], cwd=tmp_path) as process:
        yield process
        process.kill()


def test_only_the_named_programs_occupy_a_folder(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    program = Path(f"/proc/{sleeper.pid}/exe").readlink().name
    assert list(occupants(tmp_path, [program])) == [known(sleeper.pid)]
    assert list(occupants(tmp_path, ["postgres"])) == []
    assert list(occupants(tmp_path.parent, [program])) == []


async def test_a_folder_is_vacated_or_its_occupant_named(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    program = Path(f"/proc/{sleeper.pid}/exe").readlink().name
    with pytest.raises(Refusal, match=f"process {sleeper.pid} uses"):
        await vacate(tmp_path, [program], [(signal.SIGCONT, 0.1)])
    await vacate(tmp_path, [program], [(signal.SIGTERM, 5.0)])
    assert sleeper.wait() == -signal.SIGTERM
