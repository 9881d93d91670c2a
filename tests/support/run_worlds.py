"""A world in which a run goes on: files, jobs and a cache, none of which are real."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice

from pf_pipeline.documents.model import Value
from pf_pipeline.engine.core import machine, restoring
from pf_pipeline.engine.core.happening import (
    Asked,
    Effect,
    Event,
    Halt,
    JobSeen,
    JobState,
    Judge,
    Judged,
    Launch,
    Over,
    Passed,
    Read,
    ReadResults,
    ResultsRead,
    Told,
    Verdict,
)
from pf_pipeline.engine.core.state import Phase, Semaphores, State
from pf_pipeline.plans.domain import Plan
from pf_pipeline.runs.domain import CacheTrace, Loop, Node, Order, Run, RunLife, Wanted
from pf_pipeline.runs.states import NodeState, RunState
from support.plain_words import PlainWords

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
Outcome = Callable[[Node], JobState]


def succeeds(_node: Node) -> JobState:
    return JobState.SUCCEEDED


def nothing(_node: Node) -> Mapping[str, Value]:
    return {}


MOST_PIECES = 10_000


@dataclass
class World:
    """Does what a run wants, in an order that chance decides; and loses the run from memory when it is told to."""

    plan: Plan
    outcome: Outcome = succeeds
    contents: str = "1 2"
    """Of each file."""
    results: Callable[[Node], Mapping[str, Value]] = nothing
    """What steps write."""
    chance: random.Random = field(default_factory=lambda: random.Random(1))
    pieces: bool = False
    """Whether what follows is kept a few steps at a time."""
    losses: float = 0.0
    """How often it is lost from memory between two of them."""
    nodes: dict[str, Node] = field(default_factory=dict)
    loops: dict[str, Loop] = field(default_factory=dict)
    jobs: dict[tuple[str, int], JobState] = field(default_factory=dict)
    """By path and attempt."""
    launched: list[tuple[str, int]] = field(default_factory=list)
    most: int = 0
    """How many jobs there were at once at most."""
    now: datetime = BEGIN
    todo: list[Effect] = field(default_factory=list)
    state: State = field(init=False)

    def __post_init__(self) -> None:
        order = Order(name=self.plan.name)
        run = Run(id="run-000001", owner="ada", order=order, life=RunLife(create_time=BEGIN))
        self.state = restoring.new_state(run, self.plan, PlainWords(), Semaphores(), BEGIN)

    @property
    def run(self) -> Run:
        return self.state.run

    @property
    def over(self) -> bool:
        return self.state.phase is Phase.OVER

    @property
    def states(self) -> Mapping[str, NodeState]:
        return {path: node.state for path, node in self.nodes.items()}

    def tell(self, event: Event) -> None:
        """Something happens, and what follows from it is kept."""
        machine.apply(self.state, event, self.now)
        self.commit()

    def commit(self) -> None:
        """Keeps what follows; in the end all of it, if in pieces."""
        for _ in range(MOST_PIECES):
            if not self._commit_piece():
                return
        raise AssertionError(f"it gets no further: {self.states}")

    def _commit_piece(self) -> bool:
        most = self.chance.randrange(1, 8) if self.pieces else 10**9
        done = sum(1 for _ in islice(machine.following(self.state), most))
        outcome = machine.take(self.state)
        self.nodes.update(outcome.nodes)
        self.loops.update({loop.path: loop for loop in outcome.loops})
        self.todo += outcome.effects
        if done == most and not self.over and self.chance.random() < self.losses:
            self.crash()
        return done == most and not self.over

    def begin(self) -> World:
        self.tell(Asked(Wanted.BEGIN))
        return self

    def finish(self, limit: int = 100_000) -> World:
        """Does all that is wanted, until the run is over."""
        for _ in range(limit):
            if self.over:
                return self
            self.step()
        raise AssertionError(f"not over: {self.states}")

    def step(self) -> None:
        """Does something that is wanted, or lets time pass."""
        if not self.todo:
            self.now += timedelta(hours=1)
            self.tell(Passed())
            return
        effect = self.todo.pop(self.chance.randrange(len(self.todo)))
        for event in self.do(effect):
            self.tell(event)

    def do(self, effect: Effect) -> list[Event]:
        match effect:
            case Read():
                return [Told(effect.path, dict.fromkeys(effect.files, self.contents))]
            case Judge():
                return [Judged(effect.node.path, Verdict.MISS, CacheTrace())]
            case Launch():
                return self._launch(effect.node)
            case Halt():
                state = self.jobs.setdefault((effect.path, effect.attempt), JobState.TERMINATED)
                return [JobSeen(effect.path, effect.attempt, state)]
            case ReadResults():
                return [ResultsRead(effect.node.path, self.results(effect.node))]
            case Over():
                return []

    def _launch(self, node: Node) -> list[Event]:
        key = node.path, node.attempt
        if key not in self.jobs:
            self.launched.append(key)
            self.jobs[key] = self.outcome(node)
        self.most = max(self.most, self.state.used)
        return [JobSeen(*key, JobState.RUNNING), JobSeen(*key, self.jobs[key])]

    def crash(self) -> None:
        """What is in memory is lost; all that was to be done has been done perhaps."""
        for effect in self.todo:
            if isinstance(effect, Launch) and self.chance.random() < 0.5:
                self._launch(effect.node)
        self.todo.clear()
        self.state = restoring.new_state(self.run, self.plan, PlainWords(), Semaphores(), self.now)
        restoring.restore(self.state, sorted(self.nodes.values(), key=_place), self.loops)
        if self.run.life.state is RunState.INITIATING:
            self.tell(Asked(Wanted.BEGIN))
        self.commit()


def _place(node: Node) -> tuple[int, int, str]:
    return node.place, node.iteration, node.path
