from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.problems import TooManyAttempts
from pf_queue.accounts.throttle import STANDARD, Rule, Throttle, delay, recent

seconds = st.floats(min_value=0, max_value=300, allow_nan=False)
small = Rule(attempts=3, window=10.0)


@given(st.lists(seconds, max_size=30).map(sorted), seconds)
def test_an_attempt_waits_until_fewer_than_the_limit_lie_in_the_window(attempts: list[float], now: float) -> None:
    earlier = tuple(at for at in attempts if at <= now)
    wait = delay(earlier, now, small)
    assert 0 <= wait <= small.window
    assert (wait == 0) == (sum(1 for at in earlier if at > now - small.window) < small.attempts)
    # A moment longer than the wait, because sums of floating seconds are not exact.
    assert delay(earlier, now + wait + 1e-6, small) == 0


@given(st.lists(seconds, max_size=30).map(sorted), seconds)
def test_what_no_longer_counts_changes_nothing(attempts: list[float], now: float) -> None:
    assert delay(recent(tuple(attempts), now, small), now, small) == delay(tuple(attempts), now, small)


@given(st.lists(st.tuples(seconds, st.booleans()), max_size=60))
def test_no_window_has_more_wrong_attempts_than_allowed(steps: list[tuple[float, bool]]) -> None:
    throttle, now, wrong = Throttle(rule=small), 0.0, []
    for pause, is_right in steps:
        now += pause / 20
        try:
            throttle.attempt("alice", now)
        except TooManyAttempts:
            continue
        if is_right:
            throttle.right("alice", now)
        else:
            wrong.append(now)
    for end in wrong:
        assert sum(1 for at in wrong if end - small.window < at <= end) <= small.attempts


def test_the_eleventh_within_a_minute_is_refused_with_the_time_to_wait() -> None:
    throttle = Throttle()
    for second in range(10):
        throttle.attempt("alice", float(second))
    with pytest.raises(TooManyAttempts) as refused:
        throttle.attempt("alice", 20.0)
    assert refused.value.retry_after == 40.0
    throttle.attempt("alice", 60.0)
    with pytest.raises(TooManyAttempts):
        throttle.attempt("alice", 60.5)


def test_names_do_not_share_their_attempts() -> None:
    throttle = Throttle(rule=Rule(attempts=1))
    throttle.attempt("alice", 0.0)
    throttle.attempt("bobby", 0.0)
    with pytest.raises(TooManyAttempts):
        throttle.attempt("alice", 1.0)


def test_right_attempts_never_count() -> None:
    throttle = Throttle()
    for second in range(50):
        throttle.attempt("alice", float(second))
        throttle.right("alice", float(second))


def test_a_right_attempt_does_not_take_back_the_wrong_ones() -> None:
    throttle = Throttle()
    for _ in range(STANDARD.attempts - 1):
        throttle.attempt("alice", 0.0)
    throttle.attempt("alice", 1.0)
    throttle.right("alice", 1.0)
    throttle.attempt("alice", 2.0)
    with pytest.raises(TooManyAttempts):
        throttle.attempt("alice", 3.0)


def test_the_table_forgets_the_name_tried_longest_ago() -> None:
    throttle = Throttle(rule=Rule(attempts=1), names=2)
    for name in ("alice", "bobby", "carol"):
        throttle.attempt(name, 0.0)
    throttle.attempt("alice", 1.0)
    with pytest.raises(TooManyAttempts):
        throttle.attempt("carol", 1.0)
