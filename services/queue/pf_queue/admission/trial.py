"""What would happen: decisions on a copy of the pools, with those who are told to leave gone at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from paddleflow.problems import Problem
from pf_queue.admission.core.explain import Explanation, explain
from pf_queue.admission.core.pool import Tuning
from pf_queue.admission.domain import Decided, DecisionKind, Key, Outcome, Patience, Record, Spec
from pf_queue.admission.engine import Engine
from pf_queue.admission.layout import Layout

MOST_TURNS = 200
MOST_DECISIONS = 1000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What would be done."""

    layout: Layout
    specs: Sequence[Spec]


@dataclass(frozen=True, slots=True)
class Fate:
    """What would become of a workload."""

    spec: Spec
    admitted: bool = False
    record: Record | None = None
    explanation: Explanation | None = None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Forecast:
    """What would be decided, and what would become of the workloads that were asked about."""

    decided: Sequence[Decided] = ()
    fates: Sequence[Fate] = field(default_factory=list)


def forecast(records: Sequence[Record], wanted: Wanted, tuning: Tuning, now: int) -> Forecast:
    """What would happen to all these records, which are left as they are."""
    engine = Engine(tuning, Patience())
    engine.arrange(wanted.layout, now)
    engine.restore(records, now)
    problems: dict[Key, Problem] = {}
    for spec in wanted.specs:
        try:
            engine.submit(spec, now)
        except Problem as problem:
            problems[spec.key] = problem
    decided = _play(engine, now)
    return Forecast(decided[:MOST_DECISIONS], [_fate(engine, spec, problems, now) for spec in wanted.specs])


def _play(engine: Engine, now: int) -> list[Decided]:
    """Decides until nothing changes any more."""
    decided: list[Decided] = []
    for turn in range(MOST_TURNS):
        while engine.round(now + turn):
            pass
        found = engine.effects().decided
        decided += found
        leaving = [each for each in found if each.kind is DecisionKind.EVICT]
        if not leaving or len(decided) >= MOST_DECISIONS:
            return decided
        for each in leaving:
            _let_go(engine, each, now + turn)
    return decided


def _let_go(engine: Engine, evicted: Decided, now: int) -> None:
    record = engine.records.get(str(evicted.key))
    if record is None:
        return
    if evicted.whole:
        engine.release(evicted.key, record.grant, Outcome.EVICTED, now)
        return
    left = {
        role.role: has - gone
        for role, has, gone in zip(record.spec.roles, record.surplus, record.shrinking, strict=True)
    }
    engine.resize(evicted.key, record.grant, left)


def _fate(engine: Engine, spec: Spec, problems: dict[Key, Problem], now: int) -> Fate:
    if spec.key in problems:
        return Fate(spec, problem=problems[spec.key])
    record = engine.records.get(str(spec.key))
    if record is None or record.holds:
        return Fate(spec, admitted=record is not None, record=record)
    return Fate(spec, record=record, explanation=explain(engine.pool_of(spec.queue), record.id, now))
