"""A pool after its queues or machines have changed."""

from __future__ import annotations

from dataclasses import replace

from pf_queue.admission.core.amounts import Space, Vector
from pf_queue.admission.core.machines import Machines
from pf_queue.admission.core.places import Tree
from pf_queue.admission.core.pool import Pool
from pf_queue.admission.core.workloads import Holding, Workload


def replanted(pool: Pool, tree: Tree, machines: Machines, now: int) -> Pool:
    """The same workloads in another tree. Its queues are those of before, or more; deleted ones are empty."""
    made = Pool(tree, machines, pool.tuning)
    made.passing = pool.passing
    old = pool.yard.tree.space
    for holding in pool.yard.holdings.values():
        made.restore_holding(_moved_holding(holding, old, tree.space))
    for workload in pool.waiting.values():
        moved = _moved(workload, old, tree.space)
        booking = pool.bookings.get(workload.id)
        if booking is None:
            made.submit(moved, now)
        else:
            made.restore_booking(replace(booking, workload=moved), now)
    return made


def _moved_holding(holding: Holding, old: Space, new: Space) -> Holding:
    return replace(
        holding,
        workload=_moved(holding.workload, old, new),
        surplus=list(holding.surplus),
        shrinking=list(holding.shrinking),
    )


def _moved(workload: Workload, old: Space, new: Space) -> Workload:
    """A workload in the terms of another space; itself, if the resources are the same."""
    if old == new:
        return workload
    roles = tuple(replace(role, each=_vector(role.each, old, new)) for role in workload.roles)
    return replace(workload, roles=roles)


def _vector(vector: Vector, old: Space, new: Space) -> Vector:
    return new.demand(old.named(vector))
