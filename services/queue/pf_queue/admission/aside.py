"""Workloads that admission goes on without, because nobody can make sense of what is stored of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from pf_queue.admission.domain import Key, Outcome, Record, RoleRequest, Spec, WorkloadState
from pf_queue.resources import LARGEST

LAST_VERSION = 999_999
"""Of the facts about an attempt, so that none that was told before is newer."""


def unreadable(id_: str, queue: str, fault: str) -> Record:
    """All that is known of one of which the rest cannot be read."""
    job, _, attempt = id_.rpartition("/")
    key = Key(job, int(attempt)) if job and attempt.isdecimal() else Key(id_, 0)
    spec = Spec(key=key, queue=queue, user="", roles=())
    return Record(spec=spec, state=WorkloadState.SET_ASIDE, number=0, submitted=0, fault=fault)


def checked(record: Record, id_: str, queue: str) -> Record:
    """A record as it is stored; set aside if what is stored contradicts itself."""
    fault = _fault(record, id_, queue)
    return unreadable(id_, queue, fault) if fault else record


def without_queue(record: Record) -> Record:
    fault = f"its queue {record.spec.queue!r} is not there"
    return replace(record, state=WorkloadState.SET_ASIDE, fault=fault)


def dropped(record: Record, grant: str, outcome: Outcome) -> Record:
    """One that was set aside, when somebody has ended it."""
    version = record.spec.key.first_version + LAST_VERSION
    state = WorkloadState.RELEASED
    return replace(record, state=state, outcome=outcome, grant=grant, surplus=(), shrinking=(), version=version)


def _fault(record: Record, id_: str, queue: str) -> str:
    spec = record.spec
    words = (spec.user, record.cluster, record.grant, record.leaves_for, *(role.role for role in spec.roles))
    if (record.id, spec.queue) != (id_, queue) or not all(isinstance(word, str) for word in words):
        return "it is not the workload that it is stored as"
    if record.state is WorkloadState.RELEASED:
        return "it is over, and stored among those that are not"
    if not _whole(_numbers(record)):
        return "a time or a number of it is none"
    if not spec.roles or not all(_sound(role) for role in spec.roles):
        return "a role of it asks for what nobody can have"
    if record.holds and not fits(record):
        return f"it holds {list(record.surplus)} replicas above its minimum, which are not those of its roles"
    return ""


def _numbers(record: Record) -> Sequence[object]:
    spec, running = record.spec, record.running
    times = (spec.grace, spec.min_run, record.submitted, record.not_before, record.since, record.start_by)
    counts = (record.number, record.requeues, record.grant_version, record.admission, record.version, spec.revision)
    return (*times, *counts, abs(spec.priority), record.leave_by, record.kept_until, 0 if running is None else running)


def _sound(role: RoleRequest) -> bool:
    numbers = (role.least, role.most, role.step, *role.per_replica.values())
    return _whole(numbers) and role.step > 0


def fits(record: Record) -> bool:
    """True if what a record says that it holds can be held by its roles."""
    roles = record.spec.roles
    if not len(roles) == len(record.surplus) == len(record.shrinking):
        return False
    parts = zip(record.surplus, record.shrinking, strict=True)
    return bool(record.grant) and _whole((*record.surplus, *record.shrinking)) and all(a >= b for a, b in parts)


def _whole(numbers: Sequence[object]) -> bool:
    if not numbers or set(map(type, numbers)) != {int}:
        return not numbers
    amounts = cast("Sequence[int]", numbers)
    return min(amounts) >= 0 and max(amounts) <= LARGEST
