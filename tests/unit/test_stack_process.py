"""The life of a supervised process."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pf_kit.embedded.processes import Identity
from pf_stack.process import HEALTHY_SECONDS, LONGEST_DELAY, TRANSITIONS, Phase, Process, Step, exit_reason

SOMEBODY = Identity(42, 7, "boot")

IMPOSSIBLE = {
    (Phase.STOPPED, Step.SERVE),
    (Phase.STARTING, Step.SPAWN),
    (Phase.READY, Step.SPAWN),
    (Phase.READY, Step.SERVE),
    (Phase.WAITING, Step.SERVE),
    (Phase.STOPPING, Step.SPAWN),
    (Phase.STOPPING, Step.SERVE),
    (Phase.STOPPING, Step.STOP),
}


def take(process: Process, step: Step, now: float) -> Process:
    match step:
        case Step.SPAWN:
            return process.spawned(SOMEBODY, now)
        case Step.SERVE:
            return process.serving(now)
        case Step.DIE:
            return process.died("exit status 1", 0.0, now)
        case Step.STOP:
            return process.stopping(now)


@pytest.mark.parametrize(("phase", "step"), list(itertools.product(Phase, Step)))
def test_each_step_leads_where_the_table_says_or_is_refused(phase: Phase, step: Step) -> None:
    process = Process("queue", phase)
    if (phase, step) in IMPOSSIBLE:
        assert (phase, step) not in TRANSITIONS
        with pytest.raises(KeyError):
            take(process, step, 1.0)
    else:
        after = take(process, step, 1.0)
        assert after.phase is TRANSITIONS[phase, step]
        assert after.since == 1.0


@settings(deadline=None)
@given(st.lists(st.sampled_from(Step), max_size=30))
def test_whatever_happens_a_process_has_an_identity_only_between_start_and_death(steps: list[Step]) -> None:
    process = Process("queue")
    for now, step in enumerate(steps):
        if (process.phase, step) in TRANSITIONS:
            process = take(process, step, float(now))
        assert (process.identity is not None) == (process.phase in {Phase.STARTING, Phase.READY, Phase.STOPPING})


def died(process: Process, times: int, ran: float = 0.0) -> Process:
    for _ in range(times):
        process = process.spawned(SOMEBODY, 0.0).died("signal 9", ran, 0.0)
    return process


def test_the_delay_doubles_from_a_tenth_of_a_second_to_five() -> None:
    delays = [died(Process("queue"), times).delay for times in range(1, 9)]
    assert delays == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]


@settings(deadline=None)
@given(st.integers(0, 10_000))
def test_the_delay_stays_within_its_bounds_for_ever(failures: int) -> None:
    assert 0.1 <= Process("queue", failures=failures).delay <= LONGEST_DELAY


def test_who_ran_for_long_begins_with_the_shortest_delay_again() -> None:
    assert died(died(Process("queue"), 8), 1, ran=HEALTHY_SECONDS).delay == 0.1


def test_restarts_count_all_starts_but_the_first() -> None:
    process = Process("queue").spawned(SOMEBODY, 0.0)
    assert process.restarts == 0
    assert died(process.died("signal 9", 0.0, 0.0), 3).restarts == 3


def test_a_wanted_end_is_no_failure() -> None:
    process = Process("queue").spawned(SOMEBODY, 0.0).serving(1.0).stopping(2.0).died("exit status 0", 0.0, 3.0)
    assert (process.phase, process.failures, process.identity) == (Phase.STOPPED, 0, None)


def test_the_exit_reason_tells_a_signal_from_a_status() -> None:
    assert exit_reason(-9) == "signal 9"
    assert exit_reason(3) == "exit status 3"
