"""Records as JSON, in two parts: what is asked for, which hardly ever changes, and where it stands."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pf_queue.admission.aside import unreadable
from pf_queue.admission.domain import Key, Outcome, Record, Replicas, RoleRequest, Spec, WorkloadState
from pf_queue.resources import Resources


def spec_text(spec: Spec) -> str:
    return json.dumps(_spec_row(spec))


def standing_text(record: Record) -> str:
    return json.dumps(_standing_row(record))


def _spec_row(spec: Spec) -> Mapping[str, Any]:
    return {
        "key": str(spec.key),
        "queue": spec.queue,
        "user": spec.user,
        "priority": spec.priority,
        "roles": [[role.role, role.least, role.most, role.step, role.per_replica.plain()] for role in spec.roles],
        "grace": spec.grace,
        "min_run": spec.min_run,
        "revision": spec.revision,
    }


def spec_of(row: Mapping[str, Any]) -> Spec:
    return Spec(
        key=Key.parse(row["key"]),
        queue=row["queue"],
        user=row["user"],
        priority=row["priority"],
        roles=roles_of(row["roles"]),
        grace=row["grace"],
        min_run=row["min_run"],
        revision=row.get("revision", 0),
    )


def roles_of(rows: Iterable[Sequence[Any]]) -> tuple[RoleRequest, ...]:
    return tuple(_role(*columns) for columns in rows)


def _role(role: str, least: int, most: int, step: int, each: Mapping[str, int]) -> RoleRequest:
    return RoleRequest(role, least, most, step, Resources(each))


def _standing_row(record: Record) -> Sequence[Any]:
    return [
        record.state,
        record.number,
        record.submitted,
        record.not_before,
        record.requeues,
        record.cluster,
        record.grant,
        record.grant_version,
        record.admission,
        record.since,
        record.start_by,
        record.running,
        record.surplus,
        record.shrinking,
        record.leave_by,
        record.leaves_for,
        record.kept_until,
        record.starving,
        record.outcome,
        record.version,
    ]


def replicas_text(replicas: Sequence[Replicas]) -> str:
    return json.dumps([[each.role, each.base, each.surplus] for each in replicas])


def replicas_of(row: Sequence[Sequence[Any]]) -> tuple[Replicas, ...]:
    return tuple(Replicas(*columns) for columns in row)


SPOILT = (LookupError, TypeError, ValueError, AttributeError, RecursionError)
"""What comes of reading as a record what is none."""


def over_record_of(id_: str, queue: str, spec: Mapping[str, Any], standing: Sequence[Any]) -> Record:
    """One that is over; set aside if it cannot be read."""
    try:
        return record_of(spec_of(spec), standing)
    except SPOILT as error:
        return spoilt(id_, queue, error)


def spoilt(id_: str, queue: str, error: Exception) -> Record:
    """One that cannot be read."""
    return unreadable(id_, queue, f"what is stored of it cannot be read ({type(error).__name__}: {error})")


def record_of(spec: Spec, standing: Sequence[Any]) -> Record:
    state, number, submitted, not_before, requeues, cluster, grant, grant_version, admission, since, *rest = standing
    start_by, running, surplus, shrinking, leave_by, leaves_for, kept_until, starving, outcome, version = rest
    return Record(
        spec=spec,
        state=WorkloadState(state),
        number=number,
        submitted=submitted,
        not_before=not_before,
        requeues=requeues,
        cluster=cluster,
        grant=grant,
        grant_version=grant_version,
        admission=admission,
        since=since,
        start_by=start_by,
        running=running,
        surplus=tuple(surplus),
        shrinking=tuple(shrinking),
        leave_by=leave_by,
        leaves_for=leaves_for,
        kept_until=kept_until,
        starving=starving,
        outcome=Outcome(outcome) if outcome else None,
        version=version,
    )
