"""Records as the core sees them."""

from __future__ import annotations

from collections.abc import Iterable

from pf_queue.admission.core.amounts import Space
from pf_queue.admission.core.pool import Booking, Pool
from pf_queue.admission.core.workloads import Holding, Role, Workload
from pf_queue.admission.domain import Record, WorkloadState


def resources_of(records: Iterable[Record]) -> set[str]:
    """All resources that workloads ask for."""
    return {name for record in records for role in record.spec.roles for name in role.per_replica}


def fill(pool: Pool, records: Iterable[Record], now: int) -> None:
    """Takes what was stored into a pool that is empty."""
    space = pool.yard.tree.space
    for record in sorted(records, key=lambda record: (record.admission, record.number)):
        if record.holds:
            pool.restore_holding(holding_of(record, space))
        elif record.state is WorkloadState.PENDING:
            if record.kept_until:
                pool.restore_booking(booking_of(record, space), now)
            else:
                pool.submit(workload_of(record, space), now)


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
