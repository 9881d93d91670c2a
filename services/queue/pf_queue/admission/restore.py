"""Records as the core sees them."""

from __future__ import annotations

from collections.abc import Iterable

from pf_queue.admission.core.amounts import Space
from pf_queue.admission.core.pool import Booking, Pool
from pf_queue.admission.core.workloads import Holding, Role, Workload
from pf_queue.admission.domain import Record, RoleRequest, WorkloadState


def resources_of(records: Iterable[Record]) -> set[str]:
    """All resources that workloads ask for."""
    return {name for record in records for role in record.spec.roles for name in role.per_replica}


class _Roles:
    """The roles of records as the core sees them. Those that many records share are shared there too."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._kinds: dict[int, tuple[tuple[RoleRequest, ...], tuple[Role, ...]]] = {}
        """By identity, because to compare takes as long as to make; what is kept beside cannot become another's."""

    def of(self, requests: tuple[RoleRequest, ...]) -> tuple[Role, ...]:
        known = self._kinds.get(id(requests))
        if known is None:
            known = self._kinds[id(requests)] = (requests, _roles(requests, self._space))
        return known[1]


def _roles(requests: Iterable[RoleRequest], space: Space) -> tuple[Role, ...]:
    return tuple(Role(role.role, role.least, role.most, role.step, space.demand(role.per_replica)) for role in requests)


def fill(pool: Pool, records: Iterable[Record], now: int) -> None:
    """Takes what was stored into a pool that is empty."""
    roles = _Roles(pool.yard.tree.space)
    for record in sorted(records, key=lambda record: (record.admission, record.number)):
        workload = _workload(record, roles.of(record.spec.roles))
        if record.holds:
            pool.restore_holding(_holding(record, workload))
        elif record.state is WorkloadState.PENDING:
            if record.kept_until:
                pool.restore_booking(Booking(workload, record.kept_until, record.starving), now)
            else:
                pool.submit(workload, now)


def workload_of(record: Record, space: Space) -> Workload:
    return _workload(record, _roles(record.spec.roles, space))


def _workload(record: Record, roles: tuple[Role, ...]) -> Workload:
    spec = record.spec
    return Workload(
        id=record.id,
        queue=spec.queue,
        user=spec.user,
        priority=spec.priority,
        roles=roles,
        submitted=record.submitted,
        number=record.number,
        grace=spec.grace,
        shield=spec.min_run,
        not_before=record.not_before,
    )


def _holding(record: Record, workload: Workload) -> Holding:
    return Holding(
        workload=workload,
        since=record.since,
        number=record.admission,
        surplus=list(record.surplus),
        shrinking=list(record.shrinking),
        leaving=record.state is WorkloadState.EVICTING,
        running=record.running,
    )
