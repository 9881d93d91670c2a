"""The supervisor with small programs in place of servers."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from pf_kit.clock import SystemClock
from pf_kit.embedded.accounts import this_account
from pf_kit.embedded.child import Child, Program
from pf_kit.embedded.folders import locked
from pf_kit.embedded.processes import Identity, identify
from pf_kit.embedded.refusal import Refusal
from pf_stack import logs
from pf_stack.layout import Layout
from pf_stack.messages import Message, Ready
from pf_stack.process import Phase, Process
from pf_stack.state import State, read_state, running_state, write_state
from pf_stack.stop import stop
from pf_stack.supervisor import Supervisor
from support.waiting import until

DIARY = """
import signal, sys, time
diary, name = sys.argv[1:]
def write(word):
    with open(diary, "a") as file:
        print(word, name, file=file)
def stop(*_):
    write("stop")
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
write("start")
time.sleep(60)
"""
"""A server that writes down when it starts and when it is told to stop."""


@dataclass
class Fake:
    """A component whose program is a few lines of Python."""

    name: str
    folder: Path
    code: str = DIARY
    start_seconds: float = 20.0
    obstacles: list[Exception] = field(default_factory=list)
    """Raised by preparing, one each time, after the first time."""
    starts: int = 0

    @property
    def diary(self) -> Path:
        return self.folder / "diary"

    async def prepare(self) -> None:
        self.starts += 1
        if self.obstacles and self.starts > 1:
            raise self.obstacles.pop(0)

    def program(self) -> Program:
        return Program(
            argv=(sys.executable, "-c", self.code, str(self.diary), self.name),
            environment={},
            folder=self.folder,
            account=this_account(),
            death_signal=signal.SIGTERM,
            stop=((signal.SIGTERM, 5.0),),
        )

    async def wait_ready(self, child: Child, /) -> None:
        await until(lambda: f"start {self.name}" in self.words())

    def words(self) -> list[str]:
        return self.diary.read_text().splitlines() if self.diary.exists() else []


@dataclass
class Run:
    """A supervisor at work."""

    layout: Layout
    told: list[Message] = field(default_factory=list)

    @property
    def state(self) -> State:
        state = read_state(self.layout.state)
        assert state is not None
        return state

    def process(self, name: str) -> Process:
        return next(process for process in self.state.processes if process.name == name)


def supervisor(run: Run, levels: Sequence[Sequence[Fake]]) -> Supervisor:
    identity = identify(os.getpid())
    assert identity is not None
    return Supervisor(run.layout, levels, identity, run.told.append, SystemClock())


@asynccontextmanager
async def supervised(layout: Layout, *levels: Sequence[Fake]) -> AsyncIterator[Run]:
    """Runs a stack of these within the block."""
    run, ready = Run(layout), asyncio.Event()
    task = asyncio.create_task(supervisor(run, levels).run(ready.set))
    try:
        await asyncio.wait_for(ready.wait(), 20.0)
        yield run
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path, is_default=False)
    layout.logs.mkdir()
    return layout


async def test_levels_start_in_order_and_stop_in_reverse(layout: Layout) -> None:
    first, second = Fake("first", layout.data), Fake("second", layout.data)
    async with supervised(layout, [first], [second]) as run:
        assert [message.name for message in run.told if isinstance(message, Ready)] == ["first", "second"]
        assert run.state.is_ready
    assert first.words() == ["start first", "start second", "stop second", "stop first"]
    assert {process.phase for process in run.state.processes} == {Phase.STOPPED}


async def test_a_killed_process_is_started_again_and_counted(layout: Layout) -> None:
    async with supervised(layout, [Fake("one", layout.data)]) as run:
        identity = run.process("one").identity
        assert identity is not None
        os.kill(identity.pid, signal.SIGKILL)
        await until(lambda: run.process("one").restarts == 1 and run.process("one").phase is Phase.READY)
        assert run.process("one").last_exit == "signal 9"


async def test_an_obstacle_that_passes_ends_no_other_process(layout: Layout) -> None:
    obstacles = [OSError(28, "No space left on device"), Refusal("wrong", "mend it")]
    shaken, steady = Fake("shaken", layout.data, obstacles=obstacles), Fake("steady", layout.data)
    async with supervised(layout, [shaken, steady]) as run:
        before = run.process("steady")
        victim = run.process("shaken").identity
        assert victim is not None
        os.kill(victim.pid, signal.SIGKILL)
        await until(lambda: not obstacles and run.process("shaken").phase is Phase.READY)
        assert run.process("steady") == before


async def test_a_state_that_cannot_be_written_stops_nothing_and_is_written_later(layout: Layout) -> None:
    layout.state.mkdir()
    component = Fake("one", layout.data)
    async with supervised(layout, [component]) as run:
        layout.state.rmdir()
        await until(layout.state.exists)
        assert run.state.is_ready
    assert component.words() == ["start one", "stop one"]


async def test_a_process_whose_death_could_not_be_written_down_is_not_shown_as_running(layout: Layout) -> None:
    async with supervised(layout, [Fake("one", layout.data)]) as run:
        told = run.state
        died = replace(told.processes[0], identity=Identity(os.getpid(), 0, ""))
        stale = layout.data / "stale"
        write_state(stale, replace(told, processes=(died,)))
        found = running_state(stale)
        assert found is not None
        assert not found.is_ready


async def test_a_log_that_cannot_be_put_aside_stops_nothing(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(logs, "MAX_BYTES", 1)
    layout.log("one").write_text("a line\n")
    (layout.logs / "one.log.3").mkdir()
    (layout.logs / "one.log.2").touch()
    component = Fake("one", layout.data)
    async with supervised(layout, [component]):
        await until(lambda: "log not put aside" in caplog.messages)
    assert component.words() == ["start one", "stop one"]


async def test_what_dies_again_and_again_at_the_start_is_quoted_and_the_rest_is_stopped(layout: Layout) -> None:
    steady = Fake("steady", layout.data)
    broken = Fake("broken", layout.data, code="import sys; sys.exit('no such file: x')")
    with pytest.raises(Refusal, match=r"broken does not start \(exit status 1\):\nno such file: x"):
        await supervisor(Run(layout), [[steady], [broken]]).run(pytest.fail)
    assert steady.words() == ["start steady", "stop steady"]
    assert broken.starts == 3


async def test_what_never_becomes_ready_is_given_up(layout: Layout) -> None:
    stuck = Fake("stuck", layout.data, code="import time; time.sleep(60)", start_seconds=0.3)
    with pytest.raises(Refusal, match=r"not ready after 0\.3 s"):
        await supervisor(Run(layout), [[stuck]]).run(pytest.fail)


async def test_what_only_the_user_can_mend_is_not_tried_again(layout: Layout) -> None:
    refused = Fake("refused", layout.data, starts=1, obstacles=[Refusal("no Postgres here", "install one")])
    with pytest.raises(Refusal, match="no Postgres here"):
        await supervisor(Run(layout), [[refused]]).run(pytest.fail)
    assert refused.words() == []


def test_a_folder_that_another_command_took_meanwhile_is_told_in_words(layout: Layout) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as supervisor:
        identity = identify(supervisor.pid)
        assert identity is not None
        write_state(layout.state, State(identity, 0.0, ()))
        with locked(layout.lock), pytest.raises(Refusal, match="another pf command works on"):
            stop(layout)
