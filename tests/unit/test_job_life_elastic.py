"""The life of a job whose crew grows and shrinks: what it holds, what it makes use of, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from pf_job.jobs.dues import due, overdue
from pf_job.jobs.life import Ending, Event, Grant, Life, advance
from pf_job.jobs.states import STAGES, Kind, Stage, State
from pf_job.jobs.terms import Terms

NOW = datetime(2030, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
LEAST, MOST = 2, 8
TERMS = Terms(steady=MINUTE)


def grant(version: int, workers: int, left: int | None = None) -> Grant:
    start_by = NOW + timedelta(minutes=5)
    return Grant("g", version, "local", {"worker": workers}, start_by, None if left is None else {"worker": left})


def running(held: Grant, crew: int, stage: Stage = Stage.WATCH) -> Life:
    return Life(
        accept_time=NOW,
        start_time=NOW,
        settle_time=NOW,
        state=State.RUNNING,
        stage=stage,
        grant=held,
        crew={"worker": crew},
    )


def told(life: Life, *events: Event) -> Life:
    for event in events:
        life = advance(life, event, TERMS, NOW + MINUTE)
    return life


def admitted(held: Grant) -> Event:
    return Event(kind=Kind.ADMITTED, attempt=1, grant=held)


def shrunk(version: int, left: int) -> Event:
    return Event(kind=Kind.SHRUNK, attempt=1, version=version, left={"worker": left})


def resized(left: int, held: Grant | None) -> Event:
    return Event(kind=Kind.RESIZED, attempt=1, left={"worker": left}, grant=held)


def happened(kind: Kind) -> Event:
    return Event(kind=kind, attempt=1)


def sizes(life: Life) -> tuple[int, int, int | None]:
    """What it holds, what it makes use of, and what it is to be left with."""
    assert life.grant
    left = None if life.grant.left is None else life.grant.left["worker"]
    return life.grant.replicas["worker"], life.replicas["worker"], left


def test_it_begins_with_all_that_it_holds_by_then() -> None:
    life = told(Life(accept_time=NOW, stage=Stage.QUEUED, state=State.PENDING), admitted(grant(3, 4)))
    assert (life.stage, life.replicas) == (Stage.LAUNCH, {"worker": 4})


def test_what_it_is_given_later_it_makes_use_of_when_it_was_steady_for_long_enough() -> None:
    life = told(running(grant(1, 2), 2), admitted(grant(2, 4)))
    assert (life.stage, sizes(life)) == (Stage.WATCH, (4, 2, None))
    assert due(life, TERMS) == NOW + MINUTE
    assert overdue(life, TERMS, NOW + MINUTE).kind is Kind.GROWN
    life = told(life, happened(Kind.GROWN))
    assert (life.stage, sizes(life), life.settle_time) == (Stage.PART, (4, 4, None), NOW + MINUTE)
    assert told(life, happened(Kind.PARTED)).stage is Stage.LAUNCH


def test_its_limit_of_time_comes_before_its_growth() -> None:
    life = running(grant(2, 4), 2)
    limited = replace(TERMS, run=MINUTE / 2)
    assert due(life, limited) == NOW + MINUTE / 2
    assert overdue(life, limited, NOW + MINUTE).ending is Ending.FATAL
    assert due(life, replace(TERMS, run=2 * MINUTE)) == NOW + MINUTE


def test_nothing_grows_that_does_not_run_yet_or_is_about_to_shrink_or_has_all() -> None:
    for life in (
        replace(running(grant(2, 4), 2), state=State.PENDING),
        running(grant(2, 4), 2, Stage.LAUNCH),
        running(grant(2, 4, left=3), 2),
        running(grant(2, 4), 4),
    ):
        assert not life.grows
        assert told(life, happened(Kind.GROWN)) == life


def test_one_of_whose_crew_somebody_is_done_waits_before_it_looks_again() -> None:
    life = told(running(grant(2, 4), 2), happened(Kind.SETTLED))
    assert (sizes(life), due(life, TERMS)) == ((4, 2, None), NOW + 2 * MINUTE)


def test_surplus_is_given_back_when_its_replicas_are_gone() -> None:
    life = told(running(grant(5, 6), 6), shrunk(6, 4))
    assert (life.stage, sizes(life)) == (Stage.PART, (6, 4, 4))
    life = told(life, happened(Kind.PARTED), happened(Kind.LAUNCHED))
    assert life.stage is Stage.WATCH
    life = told(life, happened(Kind.FREED))
    assert life.stage is Stage.RESIZE
    life = told(life, resized(4, grant(6, 4)))
    assert (life.stage, sizes(life)) == (Stage.LAUNCH, (4, 4, None))
    assert told(life, happened(Kind.RUNNING)).stage is Stage.WATCH


def test_what_it_did_not_make_use_of_yet_is_given_back_without_an_end_of_anybody() -> None:
    life = told(running(grant(5, 6), 3), shrunk(6, 4))
    assert (life.stage, sizes(life)) == (Stage.PART, (6, 3, 4))
    life = told(life, happened(Kind.PARTED), happened(Kind.FREED), resized(4, grant(6, 4)))
    assert sizes(life) == (4, 3, None)


def test_who_was_given_up_is_not_replaced_as_soon_as_usual() -> None:
    life = told(running(grant(5, 6), 6), replace(shrunk(6, 5), own=True), happened(Kind.PARTED), happened(Kind.FREED))
    life = told(life, resized(5, grant(6, 5)), happened(Kind.RUNNING), admitted(grant(7, 6)))
    assert (life.stage, sizes(life)) == (Stage.WATCH, (6, 5, None))
    assert due(life, TERMS) == NOW + MINUTE + 10 * MINUTE


def test_old_news_of_less_is_passed_over() -> None:
    life = running(grant(7, 6), 6)
    assert told(life, shrunk(7, 4)) == life
    once = told(life, shrunk(8, 4))
    assert told(once, shrunk(8, 4)) == once


def test_more_may_be_asked_for_while_some_is_given_back() -> None:
    life = told(running(grant(5, 6), 6), shrunk(6, 5), happened(Kind.PARTED), happened(Kind.FREED), shrunk(6, 3))
    assert (life.stage, sizes(life)) == (Stage.PART, (6, 3, 3))
    assert told(life, resized(5, grant(6, 5))) == life, "the queue was told of less than it asks for by now"
    life = told(life, happened(Kind.PARTED), happened(Kind.FREED), resized(5, grant(6, 5)))
    assert (life.stage, sizes(life)) == (Stage.RESIZE, (5, 3, 3))
    assert sizes(told(life, resized(3, grant(7, 3)))) == (3, 3, None)


def test_what_it_was_given_again_before_the_answer_came_is_known() -> None:
    life = running(grant(5, 6, left=4), 4, Stage.RESIZE)
    life = told(life, admitted(grant(7, 5)), resized(4, grant(6, 4)))
    assert (life.stage, sizes(life)) == (Stage.LAUNCH, (5, 4, None))


def test_a_queue_that_knows_nothing_of_it_is_asked_no_more() -> None:
    life = told(running(grant(5, 6, left=4), 4, Stage.RESIZE), resized(4, None))
    assert (life.stage, sizes(life)) == (Stage.LAUNCH, (4, 4, None))


def test_a_replica_is_started_again_while_others_part() -> None:
    for stage in (Stage.PART, Stage.RESIZE):
        life = running(grant(5, 6, left=4), 4, stage)
        assert told(life, happened(Kind.RESTARTED)) == life
    assert told(running(grant(5, 6), 6), happened(Kind.RESTARTED)).stage is Stage.LAUNCH


def test_a_job_that_ends_while_it_shrinks_gives_back_all() -> None:
    for stage in (Stage.PART, Stage.RESIZE, Stage.LAUNCH):
        life = running(grant(5, 6, left=4), 4, stage)
        assert told(life, Event(kind=Kind.ENDED, attempt=1, ending=Ending.FAILED)).stage is Stage.HALT
        again = told(life, happened(Kind.EVICTED), happened(Kind.HALTED), happened(Kind.GONE), happened(Kind.RELEASED))
        assert (again.stage, again.attempt, again.replicas, again.settle_time) == (Stage.QUEUED, 2, {}, None)


@dataclass
class World:
    """A queue that gives and takes surplus, and a runtime, which do what the stage asks for and may be late."""

    life: Life = field(default_factory=lambda: running(grant(1, LEAST), LEAST))
    held: int = LEAST
    version: int = 1
    leaving: int = 0
    live: int = LEAST
    """Replicas that run."""
    news: list[Event] = field(default_factory=list)

    def tell(self, event: Event) -> None:
        before = self.life
        self.life = advance(before, event, TERMS, NOW)
        if self.life.stage is not before.stage:
            assert self.life.stage in STAGES[before.stage][event.kind]
        held, crew, left = sizes(self.life)
        assert LEAST <= crew <= held <= MOST
        assert left is None or crew <= left < held or self.life.stage is Stage.RESIZE

    def grow(self) -> None:
        if not self.leaving and self.held < MOST:
            self.held, self.version = self.held + 1, self.version + 1
            self.news.append(admitted(grant(self.version, self.held)))

    def take(self) -> None:
        if self.held - self.leaving > LEAST:
            self.leaving += 1
            self.news.append(shrunk(self.version + 1, self.held - self.leaving))

    def hear(self) -> None:
        if self.news:
            self.tell(self.news.pop(0))

    def due(self) -> None:
        if self.life.grows:
            self.tell(happened(Kind.GROWN))

    def give_up(self) -> None:
        crew = self.life.replicas["worker"]
        if crew > LEAST:
            assert self.life.grant
            self.tell(shrunk(self.life.grant.version + 1, crew - 1))

    def do(self) -> None:
        _, crew, left = sizes(self.life)
        match self.life.stage:
            case Stage.PART:
                self.live = min(self.live, crew)
                self.tell(happened(Kind.PARTED))
            case Stage.LAUNCH:
                self.live = crew
                self.tell(happened(Kind.FREED if left is not None else Kind.LAUNCHED))
            case Stage.RESIZE if left is not None:
                self.live = crew
                self.resize(left)
                self.tell(resized(left, grant(self.version, self.held)))
            case _:
                pass

    def resize(self, left: int) -> None:
        given = max(0, self.held - left)
        assert self.live <= left, "nothing is given back that runs"
        self.held, self.leaving = self.held - given, max(0, self.leaving - given)
        self.version += bool(given)

    def crash(self) -> None:
        """What was done may be done again."""
        before = self.life
        self.do()
        self.life = before


STEPS = st.sampled_from(["do", "do", "grow", "take", "hear", "hear", "due", "crash", "give_up"])


@settings(max_examples=1000)
@given(steps=st.lists(STEPS, max_size=60))
def test_whatever_happens_it_never_runs_more_than_it_holds_and_gives_back_what_it_is_asked_for(
    steps: list[str],
) -> None:
    world = World()
    for name in steps:
        getattr(world, name)()
        assert world.live <= world.held
    for _ in range(200):
        world.hear()
        world.do()
        if not world.news and world.life.stage is Stage.WATCH and not world.life.grows:
            break
        world.due()
    assert world.leaving == 0
    assert sizes(world.life) == (world.held, world.held, None)
    assert world.live == world.held


def test_the_sizes_of_a_life_are_told_by_role() -> None:
    both: Mapping[str, int] = {"master": 1, "worker": 2}
    life = replace(running(grant(1, 2), 2), grant=replace(grant(1, 2), replicas=both), crew=None)
    assert life.replicas == both
    less = told(life, Event(kind=Kind.SHRUNK, attempt=1, version=2, left={"worker": 1}))
    assert less.replicas == {"master": 1, "worker": 1}
