"""Records as the core sees them."""

from __future__ import annotations

from pf_queue.admission.core.amounts import Space
from pf_queue.admission.core.pool import Booking
from pf_queue.admission.core.workloads import Holding, Role, Workload
from pf_queue.admission.domain import Record, WorkloadState


def workload_of(record: Record, space: Space) -> Workload:
    spec = record.spec
    return Workload(
        id=record.id,
        queue=spec.queue,
        user=spec.user,
        priority=spec.priority,
        roles=tuple(
            Role(role.role, role.least, role.most, role.step, space.demand(role.per_replica)) for role in spec.roles
        ),
        submitted=record.submitted,
        number=record.number,
        grace=spec.grace,
        shield=spec.min_run,
        not_before=record.not_before,
        requeues=record.requeues,
    )


def holding_of(record: Record, space: Space) -> Holding:
    return Holding(
        workload=workload_of(record, space),
        since=record.since,
        number=record.admission,
        surplus=list(record.surplus),
        shrinking=list(record.shrinking),
        leaving=record.state is WorkloadState.EVICTING,
        running=record.running,
    )


def booking_of(record: Record, space: Space) -> Booking:
    return Booking(workload_of(record, space), record.kept_until, record.starving)
