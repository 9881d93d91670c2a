"""What a job holds, from when to when, as its life goes on."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from pf_job.jobs.domain import Job
from pf_job.jobs.life import Ending, Event, Grant, Life, advance
from pf_job.jobs.spans import Span, Turn, held, joined, turn
from pf_job.jobs.states import Kind, Stage, State
from pf_job.specs.domain import Flavour, JobSpec, JobType, Member, Role, Work

NOW = datetime(2030, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
ROLES = {Role.WORKER: {"cpu": 1000, "nvidia.com/gpu": 2}, Role.PSERVER: {"cpu": 500, "memory": 10}}


def grant(version: int = 1, workers: int = 2) -> Grant:
    return Grant(f"g{version}", version, "local", {"worker": workers, "pserver": 1}, NOW + timedelta(days=1))


def job(**life: object) -> Job:
    members = tuple(Member(role=role, replicas=1, work=Work(flavour=Flavour(amounts=it))) for role, it in ROLES.items())
    spec = JobSpec(id="j", members=members)
    known = replace(Life(accept_time=NOW), **life)  # type: ignore[arg-type]
    return Job(id="j", owner="ada", type=JobType.DISTRIBUTED, spec=spec, life=known)


def happened(*events: Event, first: Job | None = None) -> tuple[Job, list[Turn]]:
    """The job after events, a second apart, and what became of what it holds."""
    after, turns = first or job(), []
    for number, event in enumerate(events):
        time = NOW + number * SECOND
        before, after = after, replace(after, life=advance(after.life, event, after.terms, time))
        turns.append(turn(before, after, time))
    return after, turns


def event(kind: Kind, **more: object) -> Event:
    return Event(**{"kind": kind, "attempt": 0, **more})  # type: ignore[arg-type]


STARTED = (event(Kind.SUBMITTED), event(Kind.ADMITTED, grant=grant()), event(Kind.LAUNCHED), event(Kind.RUNNING))
OVER = (event(Kind.ENDED, ending=Ending.SUCCEEDED), event(Kind.HALTED), event(Kind.GONE))


def spans(turns: list[Turn]) -> list[tuple[float, float | None, int]]:
    """Beginning, end and cards of each span."""
    found = joined(turns)
    assert found.ended is None
    return [(_seconds(each.start_time), _maybe(each), each.held["nvidia.com/gpu"]) for each in found.begun]


def _seconds(time: datetime) -> float:
    return (time - NOW).total_seconds()


def _maybe(span: Span) -> float | None:
    return None if span.finish_time is None else _seconds(span.finish_time)


def test_a_job_holds_what_its_grant_says() -> None:
    assert held(job(grant=grant(workers=3))) == {"cpu": 3500, "nvidia.com/gpu": 6, "memory": 10}
    assert sum(held(job()).values()) == 0


def test_a_job_counts_from_when_it_runs_until_nothing_of_it_is_left() -> None:
    assert spans(happened(*STARTED)[1]) == [(3, None, 4)]
    assert spans(happened(*STARTED, *OVER)[1]) == [(3, 6, 4)]


def test_a_job_that_never_ran_held_nothing() -> None:
    late = event(Kind.LATE, ending=Ending.FATAL)
    turns = happened(*STARTED[:-1], late, event(Kind.HALTED), event(Kind.GONE))[1]
    assert joined(turns).begun == []


def test_a_job_that_grows_holds_more_from_then_on() -> None:
    grown = event(Kind.ADMITTED, grant=grant(2, workers=5))
    assert spans(happened(*STARTED, grown, *OVER)[1]) == [(3, 4, 4), (4, 7, 10)]


def test_a_job_that_shrinks_holds_less_once_its_queue_knows() -> None:
    left = {"worker": 1, "pserver": 1}
    shrunk = (event(Kind.SHRUNK, left=left, version=2), event(Kind.PARTED), event(Kind.FREED))
    told = event(Kind.RESIZED, left=left, grant=grant(2, workers=1))
    assert spans(happened(*STARTED, *shrunk, told)[1]) == [(3, 7, 4), (7, None, 2)]


def test_each_attempt_counts() -> None:
    evicted = (event(Kind.EVICTED), event(Kind.HALTED), event(Kind.GONE), event(Kind.RELEASED))
    again = (event(Kind.ADMITTED, grant=grant(2)), event(Kind.LAUNCHED), event(Kind.RUNNING))
    after, turns = happened(*STARTED, *evicted, *again)
    assert (after.life.attempt, after.life.state) == (2, State.RUNNING)
    assert spans(turns) == [(3, 6, 4), (10, None, 4)]
    assert [each.attempt for each in joined(turns).begun] == [1, 2]


def test_who_is_told_in_parts_ends_what_is_kept() -> None:
    running, _ = happened(*STARTED)
    found = joined(happened(*OVER, first=running)[1])
    assert (found.ended, found.begun) == (NOW + 2 * SECOND, [])


def test_a_clock_that_goes_back_makes_no_time_negative() -> None:
    running, begun = happened(*STARTED)
    gone = replace(running, life=replace(running.life, stage=Stage.RELEASE))
    found = joined([*begun, turn(running, gone, NOW)])
    assert [each.finish_time for each in found.begun] == [each.start_time for each in found.begun]


KINDS = st.builds(
    lambda kind, version, workers, ending, abrupt: Event(
        kind=kind, attempt=0, grant=grant(version, workers), ending=ending, abrupt=abrupt
    ),
    st.sampled_from([kind for kind in Kind if kind is not Kind.REQUEUED]),
    st.integers(1, 5),
    st.integers(0, 3),
    st.sampled_from(Ending),
    st.booleans(),
)


@given(st.lists(KINDS, max_size=40))
def test_spans_never_overlap_and_only_a_job_with_replicas_holds_something(events: list[Event]) -> None:
    after, turns = happened(*events)
    begun = joined(turns).begun
    for earlier, later in itertools.pairwise(begun):
        assert earlier.finish_time is not None
        assert earlier.start_time <= earlier.finish_time <= later.start_time
    if begun and begun[-1].finish_time is None:
        assert after.life.stage not in (Stage.SUBMIT, Stage.QUEUED, Stage.RELEASE, Stage.OVER)
        assert begun[-1].attempt == after.life.attempt
    if after.life.state is State.RUNNING and after.life.stage is Stage.WATCH:
        assert begun
        assert begun[-1].finish_time is None
        assert begun[-1].held == held(after)
