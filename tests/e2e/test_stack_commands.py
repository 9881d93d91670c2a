"""The other ways of `pf`: in the foreground, logs, refusals, misspelt words."""

from __future__ import annotations

import signal
import subprocess

import pytest

from pf_stack.state import running_state
from support.stacks import Stack, new_stack, processes_of, wait_until

pytestmark = [pytest.mark.xdist_group("stack"), pytest.mark.timeout(180)]


def test_in_the_foreground_it_stays_until_it_is_told_to_stop(stack: Stack) -> None:
    stack.pf("down")
    log = stack.layout.log("supervisor")
    before = len(log.read_text())
    process = stack.start("up", "--foreground")
    wait_until(lambda: stack.status()["ready"])
    stack.kill("valkey")
    wait_until(lambda: '"last_exit": "signal 9"' in log.read_text()[before:])
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert "PaddleFlow is up" in said
    assert list(processes_of(stack.data)) == []
    stack.pf("up")


def test_logs_are_shown_and_followed(stack: Stack) -> None:
    assert "database system is ready" in stack.pf("logs", "postgres")
    everything = stack.pf("logs", "--tail", "1").splitlines()
    shown = {line.partition("|")[0].strip() for line in everything}
    assert shown == {"fs", "job", "pipeline", "postgres", "queue", "supervisor", "valkey"}
    follower = stack.start("logs", "queue", "--tail", "1", "--follow")
    try:
        assert follower.stdout is not None
        follower.stdout.readline()
        stack.kill("queue")
        # The next start is seen as it happens.
        assert any('"serving"' in line for line in follower.stdout)
    finally:
        follower.kill()
        follower.communicate()
    wait_until(lambda: stack.status()["ready"])
    assert "There are logs of: fs, job, pipeline, postgres, queue" in stack.pf("logs", "qeue", status=1)


def test_a_misspelt_command_is_answered_with_what_was_meant(stack: Stack) -> None:
    assert "Did you mean 'status'?" in stack.pf("stauts", status=2)


def test_a_service_that_cannot_start_is_quoted_and_nothing_is_left_running() -> None:
    with new_stack() as stack:
        options = stack.options()
        options["env"]["PF_QUEUE_LOG_LEVEL"] = "loud"
        done = subprocess.run(stack.command("up"), capture_output=True, text=True, **options)
        assert done.returncode == 1
        assert "queue does not start" in done.stderr
        assert "PF_QUEUE_LOG_LEVEL: 'loud' is not" in done.stderr
        assert list(processes_of(stack.data)) == []
        # The first password was never shown: it is, once the mistake is mended.
        assert "Password of root: " in stack.pf("up")


def test_in_the_foreground_a_refusal_is_told_as_well(stack: Stack) -> None:
    said = stack.pf("up", "--foreground", "--data", str(stack.folder), status=1)
    assert "not a data folder of PaddleFlow" in said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_up_leaves_nothing_running(stack: Stack, number: signal.Signals) -> None:
    stack.pf("down")
    start = stack.start("up")
    wait_until(lambda: running_state(stack.data / "state.json") is not None)
    start.send_signal(number)
    said, _ = start.communicate(timeout=60)
    assert start.returncode == 1
    assert "nothing of this start is left running" in said
    assert list(processes_of(stack.data)) == []
    stack.pf("up")


def test_the_doctor_has_nothing_to_mend_in_a_running_stack(stack: Stack) -> None:
    assert "queue runs" in stack.pf("doctor")
