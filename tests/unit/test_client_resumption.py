"""What a watch does after it broke."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.problems import (
    DatabaseUnavailable,
    DeadlineExceeded,
    Internal,
    PermissionDenied,
    Problem,
    ResumeTokenExpired,
    ResumeTokenInvalid,
    ShuttingDown,
    TokenExpired,
    TokenInvalid,
    TokenMissing,
    TokenRevoked,
    Unavailable,
    WatchTooSlow,
    WrongPassword,
)
from paddleflow.resumption import LONGEST_DELAY, Progress, Step, next_step


@pytest.mark.parametrize(
    ("problem", "step"),
    [
        (Unavailable(), Step.RESUME),
        (ShuttingDown(), Step.RESUME),
        (DatabaseUnavailable(), Step.RESUME),
        (WatchTooSlow(), Step.RESUME),
        (DeadlineExceeded(), Step.RESUME),
        (ResumeTokenExpired(), Step.START_OVER),
        (ResumeTokenInvalid(), Step.GIVE_UP),
        (PermissionDenied(), Step.GIVE_UP),
        (TokenMissing(), Step.GIVE_UP),
        (WrongPassword(), Step.GIVE_UP),
        (Internal(), Step.GIVE_UP),
    ],
)
@pytest.mark.parametrize("can_log_in", [True, False])
def test_time_mends_some_problems(problem: Problem, step: Step, can_log_in: bool) -> None:
    assert next_step(problem, can_log_in=can_log_in) is step


@pytest.mark.parametrize("problem", [TokenExpired(), TokenRevoked(), TokenInvalid()])
def test_a_refused_token_is_mended_by_whoever_has_a_password(problem: Problem) -> None:
    assert next_step(problem, can_log_in=True) is Step.LOG_IN
    assert next_step(problem, can_log_in=False) is Step.GIVE_UP


def test_until_the_first_bookmark_the_token_stands_for_nothing() -> None:
    progress = Progress.begin("").advanced("t1", caught_up=False)
    assert not progress.settled
    assert progress.advanced("t2", caught_up=True).advanced("t3", caught_up=False).settled
    assert Progress.begin("old").settled


def test_patience_counts_from_the_first_failure_and_ends_with_a_message() -> None:
    progress = Progress.begin("").advanced("t", caught_up=True).failed(100.0).failed(130.0)
    assert not progress.gives_up(Step.RESUME, 159.0, 60.0)
    assert progress.gives_up(Step.RESUME, 161.0, 60.0)
    assert not progress.advanced("t", caught_up=True).failed(200.0).gives_up(Step.RESUME, 201.0, 60.0)


def test_a_server_that_never_answered_is_given_up_at_once() -> None:
    progress = Progress.begin("old").failed(100.0)
    assert progress.gives_up(Step.RESUME, 100.0, 60.0)
    assert not progress.gives_up(Step.LOG_IN, 100.0, 60.0)
    assert not progress.gives_up(Step.START_OVER, 100.0, 60.0)
    assert progress.restarted().gives_up(Step.GIVE_UP, 100.0, 60.0)


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_delays_grow_up_to_a_limit(failures: int, chance: float) -> None:
    progress = Progress.begin("")
    delays = [Progress("", settled=False, failures=each).delay(chance) for each in (failures, failures + 1)]
    assert 0.05 <= delays[0] <= delays[1] <= LONGEST_DELAY
    assert progress.failed(0.0).failures == 1
