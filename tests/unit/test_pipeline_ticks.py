"""Which ticks get a run, are passed over or wait."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pf_pipeline.schedules.domain import Catchup, Policy, Rule, ScheduleState, Standing
from pf_pipeline.schedules.ticks import GRACE, MOST_TICKS, Decision, Outcome, first_tick, last_tick, look

SECOND = timedelta(seconds=1)


def at(clock: str) -> datetime:
    return datetime.fromisoformat(f"2022-06-01T{clock}").replace(tzinfo=UTC)


def looked(
    now: str,
    *,
    first: str = "09:57:30",
    seen: str = "10:00",
    active: int = 0,
    crontab: str = "* * * * *",
    concurrency: int = 0,
    policy: Policy = Policy.SUSPEND,
    expire: int = 0,
    catchup: Catchup = Catchup.ALL,
    end: str = "",
    settled: tuple[str, ...] = (),
) -> Decision:
    rule = Rule(
        crontab=crontab,
        start=at("00:00"),
        end=at(end) if end else None,
        concurrency=concurrency,
        policy=policy,
        expire=expire * SECOND,
        catchup=catchup,
    )
    standing = Standing(next_time=at(first), wake_time=at(first), looked_time=at(seen))
    return look(rule, rule.timetable, standing, now=at(now), active=active, settled=frozenset(map(at, settled)))


def outcomes(decision: Decision) -> str:
    return " ".join(f"{ruling.time:%H:%M:%S}={ruling.outcome}" for ruling in decision.rulings)


# The first tick lies between two minutes, as it does when a schedule was changed.
@pytest.mark.parametrize(
    ("rule", "wanted", "following"),
    [
        ({}, "run run run", "10:00"),
        ({"expire": 60}, "skip skip run", "10:00"),
        ({"expire": 30}, "skip skip run", "10:00"),
        ({"expire": 29}, "skip skip skip", "10:00"),
        ({"concurrency": 1}, "run wait wait", "09:58"),
        ({"concurrency": 2}, "run run wait", "09:59"),
        ({"concurrency": 10}, "run run run", "10:00"),
        ({"concurrency": 2, "active": 2}, "wait wait wait", "09:57:30"),
        ({"concurrency": 1, "expire": 60}, "skip skip run", "10:00"),
        ({"concurrency": 1, "active": 1, "expire": 60}, "skip skip wait", "09:59"),
        ({"concurrency": 1, "policy": Policy.SKIP}, "run skip skip", "10:00"),
        ({"concurrency": 2, "active": 2, "policy": Policy.SKIP}, "skip skip skip", "10:00"),
        ({"concurrency": 0, "active": 9, "policy": Policy.SKIP}, "run run run", "10:00"),
        ({"concurrency": 1, "policy": Policy.REPLACE}, "skip skip run", "10:00"),
        ({"concurrency": 2, "active": 5, "policy": Policy.REPLACE}, "skip run run", "10:00"),
    ],
)
def test_what_becomes_of_three_ticks(rule: dict[str, object], wanted: str, following: str) -> None:
    decision = looked("09:59:30", seen="09:57:00", **rule)  # type: ignore[arg-type]
    assert " ".join(ruling.outcome for ruling in decision.rulings) == wanted
    assert decision.standing.next_time == at(following)
    assert decision.standing.state is ScheduleState.RUNNING


def test_only_as_many_runs_are_stopped_as_must_make_room() -> None:
    assert looked("09:59:30", concurrency=2, active=0, policy=Policy.REPLACE).stop == 0
    assert looked("09:59:30", concurrency=4, active=2, policy=Policy.REPLACE).stop == 1
    assert looked("09:59:30", concurrency=1, active=3, policy=Policy.REPLACE).stop == 3
    assert looked("09:59:30", concurrency=1, active=3, policy=Policy.REPLACE, expire=1).stop == 0
    assert looked("09:59:30", concurrency=1, active=3, policy=Policy.SKIP).stop == 0


def test_a_schedule_is_over_behind_its_last_tick() -> None:
    decision = looked("09:59:30", end="09:58:59")
    assert outcomes(decision) == "09:57:30=run 09:58:00=run"
    assert decision.standing.state is ScheduleState.SUCCESS
    assert decision.standing.next_time is decision.standing.wake_time is None


def test_a_tick_at_the_end_still_counts() -> None:
    decision = looked("09:58:10", end="09:59")
    assert decision.standing.next_time == at("09:59")


def test_a_schedule_is_not_over_while_a_tick_waits() -> None:
    decision = looked("09:59:30", end="09:58", concurrency=1, active=1)
    assert (decision.standing.state, decision.standing.next_time) == (ScheduleState.RUNNING, at("09:57:30"))


def test_a_tick_that_waits_is_looked_at_when_it_expires_or_the_next_comes() -> None:
    assert looked("09:59:30", concurrency=1, active=1).standing.wake_time == at("10:00")
    expiring = looked("09:57:31", concurrency=1, active=1, expire=10)
    assert expiring.standing.wake_time == at("09:57:40.000001")


def test_what_was_settled_before_is_left_alone() -> None:
    decision = looked("09:59:30", settled=("09:58",), concurrency=2)
    assert outcomes(decision) == "09:57:30=run 09:59:00=run"


class TestMissedTicks:
    """The schedule was looked at last at 10:00, and its next tick is at 10:01."""

    def test_each_gets_a_run(self) -> None:
        assert len(looked("10:30", first="10:01", seen="10:00").rulings) == 30

    def test_none_gets_a_run(self) -> None:
        decision = looked("10:30:10", first="10:01", catchup=Catchup.NONE)
        assert outcomes(decision) == "10:30:00=run"
        assert outcomes(looked("10:30:10", first="10:01", catchup=Catchup.NONE, crontab="15 * * * *")) == ""

    def test_the_last_gets_a_run(self) -> None:
        decision = looked("11:20", first="10:15", catchup=Catchup.ONE, crontab="*/15 10 * * *")
        assert outcomes(decision) == "10:45:00=run"
        # The one of the last minute was not missed.
        assert outcomes(looked("10:30:10", first="10:01", catchup=Catchup.ONE)) == "10:29:00=run 10:30:00=run"

    def test_the_last_before_the_end_gets_a_run(self) -> None:
        decision = looked("10:30:10", first="10:01", end="10:20:30", catchup=Catchup.ONE)
        assert outcomes(decision) == "10:20:00=run"
        assert decision.standing.state is ScheduleState.SUCCESS

    @pytest.mark.parametrize("catchup", Catchup)
    def test_one_that_waits_was_not_missed(self, catchup: Catchup) -> None:
        decision = looked("10:05:20", first="09:50", seen="10:05:10", catchup=catchup, concurrency=1, active=0)
        assert outcomes(decision).startswith("09:50:00=run 09:51:00=wait")

    @pytest.mark.parametrize("catchup", Catchup)
    def test_one_that_waits_behind_the_end_was_not_missed(self, catchup: Catchup) -> None:
        decision = looked("10:35", first="09:50", seen="09:50", end="09:50:30", catchup=catchup, concurrency=1)
        assert outcomes(decision) == "09:50:00=run"

    @pytest.mark.parametrize("catchup", Catchup)
    def test_a_late_look_within_a_minute_misses_nothing(self, catchup: Catchup) -> None:
        decision = looked("10:01:59", first="10:01", catchup=catchup)
        assert outcomes(decision) == "10:01:00=run"


def test_very_many_ticks_are_settled_in_parts() -> None:
    decision = looked("10:00", first="00:01", seen="00:00", concurrency=3, policy=Policy.REPLACE)
    assert len(decision.rulings) == MOST_TICKS
    assert {ruling.outcome for ruling in decision.rulings} == {Outcome.SKIP}
    assert decision.standing.next_time == decision.standing.wake_time == at("01:41")


@settings(max_examples=200)
@given(
    concurrency=st.integers(0, 3),
    policy=st.sampled_from(Policy),
    expire=st.sampled_from([0, 45, 150]),
    ends=st.sampled_from([None, 700, 1100]),
    looks=st.lists(st.tuples(st.integers(1, 400), st.integers(0, 3)), min_size=1, max_size=12),
)
def test_whenever_it_is_looked_each_tick_becomes_something_once(
    concurrency: int, policy: Policy, expire: int, ends: int | None, looks: list[tuple[int, int]]
) -> None:
    end = at("10:00") + ends * SECOND if ends else None
    rule = Rule(
        crontab="* * * * *",
        start=at("10:00"),
        end=end,
        concurrency=concurrency,
        policy=policy,
        expire=expire * SECOND,
    )
    plan, now, active = rule.timetable, rule.start, 0
    first = first_tick(rule, plan)
    standing = Standing(next_time=first, wake_time=first, looked_time=now)
    became: dict[datetime, Outcome] = {}
    for pause, over in looks:
        now, active = now + pause * SECOND, max(0, active - over)
        decision = look(rule, plan, standing, now=now, active=active, settled=())
        for ruling in decision.rulings:
            if ruling.outcome is not Outcome.WAIT:
                assert ruling.time not in became
                became[ruling.time] = ruling.outcome
        standing = decision.standing
        active += sum(ruling.outcome is Outcome.RUN for ruling in decision.rulings) - decision.stop
        assert not concurrency or active <= concurrency
    last = min(now, end) if end else now
    ticks = [at("10:00") + number * 60 * SECOND for number in range(100) if at("10:00") + number * 60 * SECOND <= last]
    open_ticks = [tick for tick in ticks if standing.next_time and tick >= standing.next_time]
    assert sorted(became) + open_ticks == ticks
    assert not open_ticks or policy is Policy.SUSPEND


@given(
    st.integers(0, 10_000),
    st.integers(0, 5000),
    st.sampled_from(["* * * * *", "*/7 3 * * *", "0 4 * * 1", "@every 7s"]),
)
def test_the_last_tick_is_found_backwards(since: int, length: int, crontab: str) -> None:
    rule = Rule(crontab=crontab, start=at("00:00"))
    begin = at("00:00") + since * SECOND
    until = begin + length * 3 * SECOND
    tick, walked = rule.timetable.after(begin), None
    while tick and tick <= until:
        walked, tick = tick, rule.timetable.after(tick)
    assert last_tick(rule.timetable, until, begin) == walked


def test_a_minute_is_the_time_to_be_late() -> None:
    assert timedelta(minutes=1) == GRACE
