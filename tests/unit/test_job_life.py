"""The life of a job: every event in every stage, and random lives in a world that may be late with its news."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pf_job.jobs.dues import due, overdue
from pf_job.jobs.life import Ending, Event, Grant, Life, advance
from pf_job.jobs.states import FINAL, STAGES, STATES, Kind, Stage, State
from pf_job.jobs.terms import Terms, backoff

NOW = datetime(2030, 1, 1, tzinfo=UTC)
GRANT = Grant("g", 1, "local", {"main": 1}, NOW + timedelta(minutes=5))
ABOUT: Mapping[Kind, Any] = {
    Kind.SHRUNK: {"left": {"main": 0}, "version": 2},
    Kind.RESIZED: {"left": {"main": 1}},
    Kind.REVISED: {"revision": 1},
}
ENDINGS = {Kind.ENDED: Ending.FAILED, Kind.LATE: Ending.FATAL}


def at(stage: Stage, **fields: object) -> Life:
    """A life in a stage, as it may stand there."""
    usual: dict[Stage, dict[str, object]] = {
        Stage.SUBMIT: {},
        Stage.QUEUED: {"state": State.PENDING},
        Stage.REVISE: {"state": State.PENDING, "revision": 1},
        Stage.LAUNCH: {"state": State.PENDING, "grant": GRANT},
        Stage.WATCH: {"state": State.RUNNING, "grant": GRANT, "start_time": NOW},
        Stage.PART: {"state": State.RUNNING, "grant": GRANT, "start_time": NOW},
        Stage.RESIZE: {"state": State.RUNNING, "grant": replace(GRANT, left={"main": 1}), "start_time": NOW},
        Stage.HALT: {"state": State.RUNNING, "grant": GRANT, "start_time": NOW, "ending": Ending.FAILED},
        Stage.ENDING: {"state": State.RUNNING, "grant": GRANT, "start_time": NOW, "ending": Ending.FAILED},
        Stage.RELEASE: {"state": State.FAILED, "grant": GRANT, "ending": Ending.FAILED},
        Stage.OVER: {"state": State.FAILED, "ending": Ending.FAILED},
    }
    return replace(Life(accept_time=NOW), stage=stage, **{**usual[stage], **fields})  # type: ignore[arg-type]


def happened(kind: Kind, attempt: int = 0) -> Event:
    grant = replace(GRANT, version=2) if kind is Kind.ADMITTED else None
    return Event(kind=kind, attempt=attempt, message=kind, grant=grant, ending=ENDINGS.get(kind), **ABOUT.get(kind, {}))


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("stage", Stage)
def test_every_event_leads_where_the_table_says(stage: Stage, kind: Kind) -> None:
    before = at(stage)
    after = advance(before, happened(kind), Terms(), NOW)
    if kind in STAGES[stage]:
        assert after.stage in STAGES[stage][kind]
    else:
        assert after == before


@pytest.mark.parametrize("kind", Kind)
def test_what_is_over_stays_over(kind: Kind) -> None:
    for state in FINAL:
        life = at(Stage.OVER, state=state)
        assert advance(life, happened(kind), Terms(), NOW) is life


def test_final_states_are_never_left() -> None:
    assert {state for state, following in STATES.items() if not following} == FINAL
    assert set(STATES) == set(State)


@pytest.mark.parametrize("stage", [stage for stage in Stage if stage is not Stage.OVER])
def test_news_of_another_attempt_is_passed_over(stage: Stage) -> None:
    life = at(stage, attempt=2)
    for kind in STAGES[stage]:
        assert advance(life, happened(kind, attempt=1), Terms(), NOW) == life


def told(life: Life, *events: Event, terms: Terms | None = None) -> Life:
    for event in events:
        life = advance(life, event, terms or Terms(), NOW)
    return life


def test_a_job_that_goes_well() -> None:
    ended = Event(kind=Kind.ENDED, attempt=1, ending=Ending.SUCCEEDED)
    life = told(at(Stage.SUBMIT), happened(Kind.SUBMITTED), happened(Kind.ADMITTED), happened(Kind.RUNNING), ended)
    assert (life.stage, life.state) == (Stage.HALT, State.RUNNING)
    life = told(life, happened(Kind.GONE))
    assert (life.stage, life.state, life.finish_time) == (Stage.RELEASE, State.SUCCEEDED, NOW)
    assert told(life, happened(Kind.RELEASED)).stage is Stage.OVER


def test_admission_may_be_heard_of_before_the_answer_to_the_submission() -> None:
    life = told(at(Stage.SUBMIT), happened(Kind.ADMITTED))
    assert (life.stage, life.state) == (Stage.LAUNCH, State.PENDING)
    assert told(life, happened(Kind.SUBMITTED)) == life


def test_a_stopped_job_that_the_queue_may_know_is_submitted_and_then_released() -> None:
    """Released only, it could be submitted after that by whoever began before it was stopped."""
    life = told(at(Stage.SUBMIT), happened(Kind.STOPPED))
    assert (life.stage, life.state) == (Stage.SUBMIT, State.TERMINATED)
    life = told(life, happened(Kind.SUBMITTED))
    assert life.stage is Stage.RELEASE
    assert told(life, happened(Kind.RELEASED)).stage is Stage.OVER


def test_what_a_job_asks_for_may_change_as_long_as_it_waits() -> None:
    for stage in (Stage.SUBMIT, Stage.QUEUED, Stage.REVISE, Stage.RELEASE):
        life = at(stage, state=State.PENDING)
        assert told(life, happened(Kind.CHANGED)).revision == life.revision + 1
    for stage in STAGES:
        over = at(stage, state=State.TERMINATED)
        assert told(over, happened(Kind.CHANGED)) == over


def test_the_queue_is_told_until_it_knows_the_last_change() -> None:
    life = told(at(Stage.QUEUED), happened(Kind.CHANGED), happened(Kind.CHANGED))
    assert (life.stage, life.state, life.revision) == (Stage.REVISE, State.PENDING, 2)
    life = told(life, replace(happened(Kind.REVISED), revision=1))
    assert life.stage is Stage.REVISE
    assert told(life, replace(happened(Kind.REVISED), revision=2)).stage is Stage.QUEUED


def test_a_change_while_a_job_is_submitted_is_told_after_it() -> None:
    life = told(at(Stage.SUBMIT), happened(Kind.CHANGED), replace(happened(Kind.SUBMITTED), revision=0))
    assert (life.stage, life.state) == (Stage.REVISE, State.PENDING)
    assert told(at(Stage.SUBMIT, revision=1), replace(happened(Kind.SUBMITTED), revision=1)).stage is Stage.QUEUED


def test_who_waits_again_after_a_change_tells_its_queue_of_it() -> None:
    life = told(at(Stage.WATCH), happened(Kind.EVICTED), happened(Kind.GONE), happened(Kind.CHANGED))
    assert told(life, happened(Kind.RELEASED)).stage is Stage.REVISE
    assert told(life, Event(kind=Kind.REQUEUED, attempt=2)).stage is Stage.REVISE


def test_a_job_that_fails_is_tried_again_until_its_retries_are_used_up() -> None:
    terms = Terms(retries=1, backoff=timedelta(seconds=7))
    life = told(at(Stage.ENDING, message="exit status 1"), happened(Kind.GONE), terms=terms)
    assert (life.stage, life.state, life.not_before) == (Stage.RELEASE, State.PENDING, NOW + timedelta(seconds=7))
    assert life.message == "exit status 1; try 2 of 2 follows in 7s"
    life = told(life, happened(Kind.RELEASED), terms=terms)
    assert (life.stage, life.attempt, life.retries, life.ending, life.grant) == (Stage.SUBMIT, 2, 1, None, None)
    ran = [happened(kind) for kind in (Kind.SUBMITTED, Kind.ADMITTED, Kind.RUNNING, Kind.ENDED, Kind.GONE)]
    assert told(life, *ran, terms=terms).state is State.FAILED


def test_some_exit_statuses_are_final() -> None:
    terms = Terms(retries=3, final_statuses=frozenset({2}))
    life = advance(at(Stage.WATCH), replace(happened(Kind.ENDED), status=2), terms, NOW)
    assert told(life, happened(Kind.GONE), terms=terms).state is State.FAILED


def test_whoever_is_evicted_waits_again_as_the_next_attempt() -> None:
    life = told(at(Stage.WATCH), happened(Kind.EVICTED))
    assert (life.stage, life.state) == (Stage.HALT, State.PREEMPTING)
    life = told(life, happened(Kind.GONE), happened(Kind.RELEASED))
    assert (life.stage, life.state, life.attempt, life.grant) == (Stage.QUEUED, State.PENDING, 2, None)
    later = NOW + timedelta(seconds=9)
    told_so = Event(kind=Kind.REQUEUED, attempt=2, not_before=later)
    assert told(life, told_so).not_before == later


def test_that_it_waits_again_may_be_heard_before_the_answer_to_the_release() -> None:
    life = told(at(Stage.WATCH), happened(Kind.EVICTED), happened(Kind.GONE))
    life = told(life, Event(kind=Kind.REQUEUED, attempt=2))
    assert (life.stage, life.attempt) == (Stage.QUEUED, 2)
    assert told(life, Event(kind=Kind.RELEASED, attempt=1)) == life


def test_who_is_evicted_and_may_not_wait_again_is_preempted() -> None:
    life = told(at(Stage.WATCH), happened(Kind.EVICTED), happened(Kind.GONE), terms=Terms(requeue=False))
    assert (life.stage, life.state) == (Stage.RELEASE, State.PREEMPTED)
    assert told(life, happened(Kind.RELEASED), terms=Terms(requeue=False)).stage is Stage.OVER


def test_whoever_is_stopped_while_its_eviction_is_told_gives_back_the_next_attempt_too() -> None:
    life = told(at(Stage.WATCH), happened(Kind.EVICTED), happened(Kind.GONE), happened(Kind.STOPPED))
    assert (life.state, life.ending) == (State.TERMINATED, Ending.EVICTED)
    life = told(life, happened(Kind.RELEASED))
    assert (life.stage, life.attempt, life.ending) == (Stage.RELEASE, 2, Ending.STOPPED)
    assert told(life, happened(Kind.RELEASED)).stage is Stage.OVER


def test_a_stop_comes_too_late_for_a_job_that_has_succeeded() -> None:
    life = at(Stage.HALT, ending=Ending.SUCCEEDED)
    assert told(life, happened(Kind.STOPPED)) == life


def test_a_second_stop_can_only_shorten_the_grace() -> None:
    life = told(at(Stage.WATCH), happened(Kind.STOPPED), happened(Kind.HALTED), happened(Kind.STOPPED))
    assert life.stage is Stage.ENDING
    life = told(life, replace(happened(Kind.STOPPED), abrupt=True))
    assert (life.stage, life.abrupt) == (Stage.HALT, True)
    assert told(life, happened(Kind.STOPPED)).abrupt


def test_what_an_attempt_holds_may_grow_and_old_news_of_it_is_passed_over() -> None:
    life = told(at(Stage.WATCH), happened(Kind.ADMITTED))
    assert life.grant
    assert (life.stage, life.state, life.grant.version) == (Stage.WATCH, State.RUNNING, 2)
    assert told(life, replace(happened(Kind.ADMITTED), grant=GRANT)) == life


def test_limits_of_time() -> None:
    minute = timedelta(minutes=1)
    assert due(at(Stage.QUEUED), Terms()) is None
    assert due(at(Stage.QUEUED), Terms(pending=minute)) == NOW + minute
    assert due(at(Stage.LAUNCH), Terms(pending=timedelta(hours=1))) == GRANT.start_by
    assert due(at(Stage.QUEUED, start_time=NOW), Terms(pending=minute)) is None
    assert due(at(Stage.WATCH), Terms(run=minute)) == NOW + minute
    assert due(at(Stage.WATCH, state=State.PENDING, start_time=None), Terms()) == GRANT.start_by
    assert due(at(Stage.HALT), Terms(run=minute, pending=minute)) is None


@pytest.mark.parametrize(
    ("stage", "terms", "ending"),
    [
        (Stage.QUEUED, Terms(pending=timedelta(0)), Ending.FATAL),
        (Stage.LAUNCH, Terms(pending=timedelta(0)), Ending.FATAL),
        (Stage.LAUNCH, Terms(), Ending.UNSTARTED),
        (Stage.WATCH, Terms(run=timedelta(0)), Ending.FATAL),
    ],
)
def test_whose_time_is_over(stage: Stage, terms: Terms, ending: Ending) -> None:
    assert overdue(at(stage), terms, NOW).ending is ending


def test_waits_between_tries_double_up_to_a_limit() -> None:
    terms = Terms(backoff=timedelta(seconds=1), max_backoff=timedelta(seconds=5))
    waits = [backoff(terms, retries) / timedelta(seconds=1) for retries in (0, 1, 2, 3, 10**6)]
    assert waits == [1, 2, 4, 5, 5]


@pytest.mark.parametrize("retries", range(101))
def test_a_job_that_waits_for_days_can_be_tried_again_as_often_as_any(retries: int) -> None:
    days = timedelta(days=3650)
    assert backoff(Terms(backoff=days, max_backoff=days), retries) == days


@dataclass
class World:
    """A queue and a runtime that do what the stage of a job asks for, and tell it when they like, each in order."""

    terms: Terms
    life: Life = field(default_factory=lambda: at(Stage.SUBMIT))
    known: dict[int, str] = field(default_factory=dict)
    """What the queue knows of each attempt: waits, holds or released."""
    revisions: dict[int, int] = field(default_factory=dict)
    """What the queue knows that each attempt asks for."""
    news: list[Event] = field(default_factory=list)
    states: list[State] = field(default_factory=lambda: [State.INIT])

    def tell(self, event: Event) -> None:
        before = self.life
        self.life = advance(before, event, self.terms, NOW)
        if self.life.stage is not before.stage:
            assert self.life.stage in STAGES[before.stage][event.kind]
        if self.life.stage is Stage.QUEUED:
            assert self.revisions[self.life.attempt] >= self.life.revision
        if self.life.state is not self.states[-1]:
            assert self.life.state in STATES[self.states[-1]]
            self.states.append(self.life.state)

    def do(self) -> None:
        """What the stage asks for, as the loops of the service do it."""
        attempt = self.life.attempt
        match self.life.stage:
            case Stage.SUBMIT:
                self.known.setdefault(attempt, "waits")
                revision = self.revisions.setdefault(attempt, self.life.revision)
                self.tell(Event(kind=Kind.SUBMITTED, attempt=attempt, revision=revision))
            case Stage.REVISE:
                self.revisions[attempt] = max(self.revisions[attempt], self.life.revision)
                self.tell(Event(kind=Kind.REVISED, attempt=attempt, revision=self.life.revision))
            case Stage.LAUNCH:
                self.tell(Event(kind=Kind.LAUNCHED, attempt=attempt))
            case Stage.WATCH:
                self.tell(Event(kind=Kind.RUNNING, attempt=attempt))
            case Stage.HALT:
                self.tell(Event(kind=Kind.HALTED, attempt=attempt))
            case Stage.ENDING:
                self.tell(Event(kind=Kind.GONE, attempt=attempt))
            case Stage.RELEASE:
                self.release(attempt)
                self.tell(Event(kind=Kind.RELEASED, attempt=attempt))
            case _:
                pass

    def release(self, attempt: int) -> None:
        if self.known.get(attempt) == "released":
            return
        assert attempt in self.known, "nothing is released that the queue does not know"
        evicted = self.known[attempt] == "holds" and self.life.ending is Ending.EVICTED and self.terms.requeue
        self.known[attempt] = "released"
        if evicted:
            self.known[attempt + 1] = "waits"
            self.revisions[attempt + 1] = self.revisions[attempt]
            self.news.append(Event(kind=Kind.REQUEUED, attempt=attempt + 1))

    def admit(self) -> None:
        for attempt, state in self.known.items():
            if state == "waits":
                self.known[attempt] = "holds"
                self.news.append(Event(kind=Kind.ADMITTED, attempt=attempt, grant=GRANT))

    def evict(self) -> None:
        holding = [attempt for attempt, state in self.known.items() if state == "holds"]
        self.news += [Event(kind=Kind.EVICTED, attempt=attempt) for attempt in holding]

    def hear(self) -> None:
        if self.news:
            self.tell(self.news.pop(0))


STEPS = st.sampled_from(
    ["do", "do", "admit", "hear", "hear", "evict", "stop", "change", "late", "won", "lost", "crash"]
)
TERMS = st.builds(Terms, retries=st.integers(0, 2), requeue=st.booleans())


def step(world: World, name: str) -> None:
    match name:
        case "do" | "admit" | "evict" | "hear":
            getattr(world, name)()
        case "stop":
            world.tell(Event(kind=Kind.STOPPED, attempt=0, message="stopped"))
        case "change":
            world.tell(Event(kind=Kind.CHANGED, attempt=0))
        case "late":
            world.tell(Event(kind=Kind.LATE, attempt=world.life.attempt, ending=Ending.FATAL))
        case "crash":
            # What was done may be done again.
            before = world.life
            world.do()
            world.life = before if world.life.state is before.state else world.life
        case _:
            ending = Ending.SUCCEEDED if name == "won" else Ending.FAILED
            world.tell(Event(kind=Kind.ENDED, attempt=world.life.attempt, ending=ending))


@settings(max_examples=1000)
@given(terms=TERMS, steps=st.lists(STEPS, max_size=40), stopped=st.booleans())
def test_whatever_happens_a_job_ends_and_the_queue_keeps_nothing(terms: Terms, steps: list[str], stopped: bool) -> None:
    world = World(terms)
    for name in steps:
        step(world, name)
    if stopped:
        step(world, "stop")
    for _ in range(60):
        if world.life.stage is Stage.OVER and not world.news:
            break
        world.admit()
        world.do()
        world.hear()
        if not world.news and world.life.stage is Stage.WATCH:
            step(world, "lost")
    assert world.life.stage is Stage.OVER
    assert world.life.state in FINAL
    assert world.life.finish_time == NOW
    assert set(world.known.values()) <= {"released"}
    if stopped and State.SUCCEEDED not in world.states and State.FAILED not in world.states:
        assert world.life.state in (State.TERMINATED, State.PREEMPTED)
