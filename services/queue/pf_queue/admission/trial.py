"""What would happen: decisions on a copy of the pools, with those who are told to leave gone at once.

Nobody ends by itself. Where nothing is decided time goes on to the next moment at which something may be, as far as the
horizon: somebody's shield ends, or his time to be tried again comes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from paddleflow.problems import Problem
from pf_queue.admission.core.explain import Explanation, explain
from pf_queue.admission.core.pool import Tuning
from pf_queue.admission.domain import Decided, DecisionKind, Key, Outcome, Patience, Record, Spec, WorkloadState
from pf_queue.admission.engine import Engine
from pf_queue.admission.layout import Layout
from pf_queue.admission.positions import NOWHERE, Position, position_of

HORIZON = 3600 * 1_000_000
"""Microseconds that are looked ahead."""
STEP = 1_000_000
"""Microseconds that go by at least where nothing is decided: a thousand shields must not cost a thousand looks."""
MOST_TURNS = 200
MOST_DECISIONS = 1000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What would be done."""

    layout: Layout
    specs: Sequence[Spec]
    clusters: frozenset[str] = frozenset()
    """Where it would be; none: everywhere. Nothing that happens elsewhere is told."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What would become of a workload."""

    spec: Spec
    admitted: bool = False
    record: Record | None = None
    explanation: Explanation | None = None
    position: Position = NOWHERE
    left: Sequence[Key] = ()
    """Those who would have to leave for it."""
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Forecast:
    """What would be decided, and what would become of the workloads that were asked about."""

    decided: Sequence[Decided] = ()
    fates: Sequence[Fate] = field(default_factory=list)
    horizon: int = HORIZON
    """Microseconds from now on that were looked at."""
    cut_off: bool = False
    """True if more would be decided than was looked at."""


def forecast(records: Sequence[Record], wanted: Wanted, tuning: Tuning, now: int) -> Forecast:
    """What would happen to all these records, which are left as they are."""
    # Where nobody ends, whoever is passed over would be for ever, and room would be kept for him in vain.
    engine = Engine(replace(tuning, patience=2 * HORIZON), Patience())
    layout = wanted.layout.only(wanted.clusters) if wanted.clusters else wanted.layout
    engine.arrange(layout, now)
    engine.restore((record for record in records if record.spec.queue in layout.pool_of), now)
    problems: dict[Key, Problem] = {}
    for spec in wanted.specs:
        try:
            engine.submit(spec, now)
        except Problem as problem:
            problems[spec.key] = problem
    play = _Play(engine, now)
    cut_off = play.until(now + HORIZON)
    fates = [_fate(play, spec, problems) for spec in wanted.specs]
    horizon = play.now - now if cut_off else HORIZON
    return Forecast(play.decided[:MOST_DECISIONS], fates, horizon, cut_off)


class _Play:
    """What is decided, one turn after the other."""

    def __init__(self, engine: Engine, now: int) -> None:
        self.engine = engine
        self.now = now
        self.decided: list[Decided] = []
        self._left: defaultdict[str, list[Key]] = defaultdict(list)
        self._let_go([record for record in engine.records.values() if _leaves(record)])

    def until(self, end: int) -> bool:
        """Decides until then; True if that is cut off because it is too much."""
        for _ in range(MOST_TURNS):
            left = self._turn()
            if len(self.decided) > MOST_DECISIONS:
                return True
            due, step = (self.now, 1) if left else (self.engine.next_time(), STEP)
            if due is None or due > end:
                return False
            self.now = max(self.now + step, due)
        return True

    def _turn(self) -> bool:
        """Decides all that can be decided now; True if somebody had to leave, and has."""
        while self.engine.round(self.now):
            pass
        found = self.engine.effects().decided
        self.decided += found
        told = {str(each.key): None for each in found if each.kind is DecisionKind.EVICT}
        self._let_go([self.engine.records[id_] for id_ in told])
        return bool(told)

    def left_for(self, id_: str) -> Sequence[Key]:
        return self._left[id_]

    def _let_go(self, leaving: Sequence[Record]) -> None:
        for record in leaving:
            self._left[record.leaves_for].append(record.spec.key)
            _let_go(self.engine, record, self.now)


def _leaves(record: Record) -> bool:
    return record.state is WorkloadState.EVICTING or any(record.shrinking)


def _let_go(engine: Engine, record: Record, now: int) -> None:
    """Who was told to leave does."""
    if record.state is WorkloadState.EVICTING:
        engine.release(record.spec.key, record.grant, Outcome.EVICTED, now)
        return
    sizes = zip(record.spec.roles, record.surplus, record.shrinking, strict=True)
    engine.resize(record.spec.key, record.grant, {role.role: has - gone for role, has, gone in sizes})


def _fate(play: _Play, spec: Spec, problems: dict[Key, Problem]) -> Fate:
    if spec.key in problems:
        return Fate(spec, problem=problems[spec.key])
    record = play.engine.records.get(str(spec.key))
    if record is None or record.holds:
        return Fate(spec, admitted=record is not None, record=record)
    return Fate(
        spec,
        record=record,
        explanation=explain(play.engine.pool_of(spec.queue), record.id, play.now),
        position=position_of(play.engine, record, play.now),
        left=play.left_for(record.id),
    )
