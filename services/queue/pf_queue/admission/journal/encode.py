"""Openings and turns as lines of JSON, in one way only: what an engine does again has the same bytes.

Decision 12 (docs/adr) describes the lines. Whatever changes them needs another `VERSION`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from operator import attrgetter
from typing import Any

from pf_queue.admission.core.places import QueueRules
from pf_queue.admission.domain import (
    Admitted,
    Decided,
    Effects,
    Evicting,
    Released,
    RoleRequest,
    Spec,
    Submitted,
    Updated,
    WorkloadFact,
)
from pf_queue.admission.journal.inputs import (
    Arrange,
    Input,
    Opening,
    Release,
    Resize,
    Resume,
    Round,
    Running,
    Submit,
    Turn,
    Update,
)
from pf_queue.admission.layout import Layout, PoolId, PoolLayout

VERSION = 2
FORMAT = "paddleflow rounds"
"""How the first line of a log says what it is."""
AT_ONCE = 100
"""Workloads in one line of an opening."""

STANDING = (
    "state",
    "number",
    "submitted",
    "not_before",
    "requeues",
    "cluster",
    "grant",
    "grant_version",
    "admission",
    "since",
    "start_by",
    "running",
    "surplus",
    "shrinking",
    "leave_by",
    "leaves_for",
    "kept_until",
    "starving",
    "outcome",
    "version",
)
"""What changes of a workload, in the order of a line."""
RULES = (
    "name",
    "parent",
    "weight",
    "priority",
    "reach",
    "strict",
    "max_jobs",
    "max_jobs_per_user",
    "admission",
)
"""Of a queue, in the order of a line; then come its amounts."""
AMOUNTS = ("min", "max", "lend_limit", "max_per_user")
DECIDED = ("time", "key", "queue", "kind", "replicas", "why", "beneficiary")
"""Of a decision, in the order of a line."""

_standing = attrgetter(*STANDING)
_rules = attrgetter(*RULES)
_amounts = attrgetter(*AMOUNTS)
_decided = attrgetter(*DECIDED)
_text = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def opening_lines(opening: Opening) -> Iterator[str]:
    """The head, then the workloads that there are."""
    head = {
        "format": FORMAT,
        "version": VERSION,
        "software": opening.software,
        "now": opening.now,
        "number": opening.number,
        "tuning": astuple(opening.tuning),
        "patience": astuple(opening.patience),
        "layout": layout_row(opening.layout),
        "workloads": len(opening.records),
    }
    yield _text(head)
    for first in range(0, len(opening.records), AT_ONCE):
        some = opening.records[first : first + AT_ONCE]
        yield _text({"workloads": [[spec_row(record.spec), _standing(record)] for record in some]})


def turn_line(turn: Turn) -> str:
    row = {
        "turn": turn.number,
        "inputs": [input_row(each) for each in turn.inputs],
        "effects": None if turn.effects is None else effects_row(turn.effects, turn.inputs),
        "stored": turn.stored,
    }
    return _text(row)


def end_line(why: str) -> str:
    return _text({"end": why})


def input_row(told: Input) -> Sequence[Any]:
    match told:
        case Round(now):
            return ("round", now)
        case Submit(spec, now):
            return ("submit", now, spec_row(spec))
        case Release(key, grant, outcome, now):
            return ("release", now, str(key), grant, outcome)
        case Resize(key, grant, left):
            return ("resize", str(key), grant, dict(sorted(left.items())))
        case Update(key, priority, revision, now):
            return ("update", now, str(key), priority, revision)
        case Running(key, grant, now):
            return ("running", now, str(key), grant)
        case Resume(key, now):
            return ("resume", now, str(key))
        case Arrange(layout, now):
            return ("arrange", now, layout_row(layout))


def spec_row(spec: Spec) -> Sequence[Any]:
    roles = [_role(role) for role in spec.roles]
    return (str(spec.key), spec.queue, spec.user, spec.priority, roles, spec.grace, spec.min_run, spec.revision)


def _role(role: RoleRequest) -> Sequence[Any]:
    return (role.role, role.least, role.most, role.step, role.per_replica.plain())


def effects_row(effects: Effects, inputs: Sequence[Input]) -> Mapping[str, Any]:
    """What was asked for is not said again where it was just submitted, nor a standing that is the last of the turn.

    Which it is, is seen by identity: a replay makes the same objects, and to compare all of them would take longer.
    """
    changed = effects.changed
    submitted = {id(told.spec): told.spec for told in inputs if isinstance(told, Submit)}
    added = ((id_, changed[id_].spec) for id_ in changed if id_ in effects.added)
    names = {id(record): id_ for id_, record in changed.items()}
    return {
        "changed": {id_: _standing(record) for id_, record in changed.items()},
        "added": [id_ if id(spec) in submitted else spec_row(spec) for id_, spec in added],
        "revised": [spec_row(changed[id_].spec) for id_ in changed if id_ in effects.revised],
        "facts": [_fact(fact, names.get(id(fact.record))) for fact in effects.facts],
        "decided": [_decision(each) for each in effects.decided],
    }


def _decision(decided: Decided) -> Sequence[Any]:
    time, key, queue, kind, replicas, why, beneficiary = _decided(decided)
    counts = [(each.role, each.base, each.surplus) for each in replicas]
    return (time, str(key), queue, kind, counts, why, beneficiary)


def _fact(fact: WorkloadFact, name: str | None) -> Sequence[Any]:
    """A workload that is as the same turn leaves it is told by its name."""
    told = name or (fact.record.id, _standing(fact.record))
    match fact:
        case Admitted():
            return ("admitted", told)
        case Submitted():
            return ("submitted", told)
        case Updated():
            return ("updated", told)
        case Released():
            return ("released", told, fact.counts)
        case Evicting():
            return ("evicting", told, fact.counts, fact.why, fact.beneficiary)
        case _:
            return ("requeued", told)


def layout_row(layout: Layout) -> Mapping[str, Any]:
    pools = sorted(layout.pools.items())
    places = {id_: place for place, (id_, _) in enumerate(pools)}
    return {
        "pools": [_pool(id_, pool) for id_, pool in pools],
        "queues": {name: (places[id_], layout.states[name]) for name, id_ in sorted(layout.pool_of.items())},
    }


def _pool(id_: PoolId, pool: PoolLayout) -> Sequence[Any]:
    sizes = [size.plain() for size in pool.sizes]
    queues = [_queue(rules) for rules in pool.queues]
    return (id_.cluster, id_.queue, queues, pool.capacity.plain(), sizes, pool.reported, pool.online)


def _queue(rules: QueueRules) -> Sequence[Any]:
    return (*_rules(rules), *(dict(sorted(amounts.items())) for amounts in _amounts(rules)))
