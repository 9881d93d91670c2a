"""Pools of admission as tests tell of them: inputs by name, times in seconds, and decisions in short words.

Beside the decisions, every round is followed by the checks that hold whatever happens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pf_queue.admission.core.amounts import Space
from pf_queue.admission.core.decisions import Admit, Book, Decision, Evict, Grow, Unbook
from pf_queue.admission.core.machines import Machines
from pf_queue.admission.core.places import Admission, QueueRules, Reach, Tree, plant
from pf_queue.admission.core.pool import SECOND, Pool, Tuning
from pf_queue.admission.core.replant import replanted
from pf_queue.admission.core.workloads import Role, Workload
from support.admission_checks import check

PATIENT = 50
"""Rounds without an input after which a pool that still decides is taken to decide for ever."""
QUEUE_FIELDS = {
    "lend": "lend_limit",
    "weight": "weight",
    "priority": "priority",
    "strict": "strict",
    "jobs": "max_jobs",
    "user": "max_per_user",
    "user_jobs": "max_jobs_per_user",
}
WORKLOAD_FIELDS = {"in", "user", "priority", "grace", "shield", "not_before", "roles"}
ROLE_FIELDS = {"least", "most", "step"}


def queue_rules(name: str, fields: Mapping[str, Any]) -> QueueRules:
    """A queue; what stands before the last dot of its name is the queue above."""
    named: dict[str, Any] = {"min": {}, "max": {}, "lend_limit": {}, "max_per_user": {}}
    for key, value in fields.items():
        match key:
            case "min" | "max":
                named[key] = value
            case "reach":
                named[key] = Reach(value)
            case "admission":
                named[key] = Admission(value)
            case _:
                named[QUEUE_FIELDS[key]] = value
    return QueueRules(name=name, parent=name.rpartition(".")[0], **named)


def machines_together(machines: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for machine in machines:
        for resource, amount in machine.items():
            total[resource] = total.get(resource, 0) + amount
    return total


@dataclass(frozen=True)
class Ground:
    """What a pool stands on."""

    queues: Mapping[str, Mapping[str, Any]]
    machines: Sequence[Mapping[str, int]]

    @property
    def space(self) -> Space:
        return Space.of(machines_together(self.machines))

    def tree(self) -> Tree:
        rules = [queue_rules(name, fields) for name, fields in self.queues.items()]
        return plant(self.space, rules, machines_together(self.machines))

    def changed(self, queues: Mapping[str, Mapping[str, Any]], machines: Sequence[Mapping[str, int]] | None) -> Ground:
        """The same with other fields of some queues, which may be new, and perhaps with other machines."""
        merged = {**self.queues, **{name: {**self.queues.get(name, {}), **fields} for name, fields in queues.items()}}
        return Ground(merged, self.machines if machines is None else machines)


@dataclass(frozen=True)
class Outcome:
    """What was decided, in short words."""

    admitted: list[str] = field(default_factory=list)
    evicted: dict[str, str] = field(default_factory=dict)
    """As in `reclaim for x` or `surplus 2 for x`."""
    grown: dict[str, str] = field(default_factory=dict)
    """By how many replicas of each role."""
    booked: list[str] = field(default_factory=list)
    unbooked: list[str] = field(default_factory=list)


class Story:
    """A pool, and the time."""

    def __init__(self, ground: Ground, tuning: Tuning | None = None) -> None:
        self.ground = ground
        self.now = 0
        self.pool = Pool(ground.tree(), Machines(ground.space, ground.machines), tuning or Tuning())
        self._number = 0
        self._cut = False

    def workload(self, name: str, fields: Mapping[str, Any]) -> Workload:
        self._number += 1
        roles = fields.get("roles") or {"worker": {k: v for k, v in fields.items() if k not in WORKLOAD_FIELDS}}
        return Workload(
            id=name,
            queue=fields["in"],
            user=fields.get("user", "somebody"),
            priority=fields.get("priority", 0),
            roles=tuple(self._role(role, its) for role, its in roles.items()),
            submitted=self.now,
            number=self._number,
            grace=fields.get("grace", 0) * SECOND,
            shield=fields.get("shield", 0) * SECOND,
            not_before=fields.get("not_before", 0) * SECOND,
        )

    def _role(self, name: str, fields: Mapping[str, Any]) -> Role:
        least = fields.get("least", 1)
        each = self.ground.space.demand({k: v for k, v in fields.items() if k not in ROLE_FIELDS})
        return Role(name, least, fields.get("most", least), fields.get("step", 1), each)

    def submit(self, name: str, fields: Mapping[str, Any]) -> None:
        self.pool.submit(self.workload(name, fields), self.now)

    def leave(self, name: str) -> None:
        self.pool.release(name)

    def requeue(self, name: str) -> None:
        """What was told to leave has left, and waits again where it stood before."""
        self.pool.submit(self.pool.release(name), self.now)

    def shrink(self, name: str) -> None:
        """A workload gives back the surplus that it was told to."""
        self.pool.shrink(name, tuple(self.pool.yard.holdings[name].shrinking))

    def replant(self, ground: Ground) -> None:
        self.ground, self._cut = ground, True
        self.pool = replanted(self.pool, ground.tree(), Machines(ground.space, ground.machines), self.now)

    def settle(self) -> Outcome:
        """Rounds, a tenth of a second apart, until one decides nothing."""
        outcome = Outcome()
        for _ in range(PATIENT):
            self.now += SECOND // 10
            decided = self.pool.round(self.now)
            check(self.pool, ceilings=not self._cut)
            if not decided:
                return outcome
            for decision in decided:
                note(outcome, decision, self.pool)
        raise AssertionError(f"after {PATIENT} rounds the pool decides still: {outcome}")


def note(outcome: Outcome, decision: Decision, pool: Pool) -> None:
    match decision:
        case Admit():
            outcome.admitted.append(decision.id)
        case Grow():
            _note_growth(outcome, decision, pool)
        case Evict():
            what = [decision.why.value]
            if decision.counts is not None:
                what.append(_counts(decision.counts))
            if decision.beneficiary:
                what.append(f"for {decision.beneficiary}")
            outcome.evicted[decision.id] = " ".join(what)
        case Book():
            outcome.booked.append(decision.id)
        case Unbook():
            outcome.unbooked.append(decision.id)


def _note_growth(outcome: Outcome, decision: Grow, pool: Pool) -> None:
    none = ["0"] * len(pool.yard.holdings[decision.id].surplus)
    counts = [int(count) for count in outcome.grown.get(decision.id, "+".join(none)).split("+")]
    counts[decision.role] += decision.count
    outcome.grown[decision.id] = _counts(counts)


def _counts(counts: Sequence[int]) -> str:
    return "+".join(map(str, counts))
