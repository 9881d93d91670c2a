"""What can never be admitted, however long it waits."""

from __future__ import annotations

from dataclasses import dataclass

from pf_queue.admission.core.pool import Pool
from pf_queue.admission.core.workloads import Workload


@dataclass(frozen=True, slots=True)
class Impossible:
    """A resource of which a workload wants more than there can be for it."""

    resource: str
    """Empty: the number of replicas is too large for the machines, of which none is full."""
    asked: int
    most: int
    queue: str
    """Whose ceiling it is; empty for the machines together, or for one machine if there is a role."""
    role: str = ""
    """The role of which a replica fits on no machine."""
    user: bool = False
    """True if it is the ceiling of one user in the queue."""


def impossible(pool: Pool, workload: Workload) -> Impossible | None:
    """Why a workload can never run as its pool is; None if it can."""
    return _beyond_ceilings(pool, workload) or _beyond_machines(pool, workload)


def _beyond_ceilings(pool: Pool, workload: Workload) -> Impossible | None:
    names = pool.yard.tree.space.names
    place = pool.yard.place(workload.queue)
    # Not the machines' sum: some may be away for a moment.
    limits = [(at.name, at.max, False) for at in place.path[:-1]]
    if place.per_user is not None:
        limits.insert(0, (place.name, place.per_user, True))
    for queue, limit, user in limits:
        for resource, (asked, most) in enumerate(zip(workload.base, limit, strict=True)):
            if asked > most:
                return Impossible(names[resource], asked, most, queue, user=user)
    return None


def _beyond_machines(pool: Pool, workload: Workload) -> Impossible | None:
    names = pool.yard.tree.space.names
    for role in workload.roles:
        room = pool.machines.room(role.each)
        if room >= role.least:
            continue
        nearest = pool.machines.nearest(role.each)
        if nearest is not None:
            for resource, (asked, most) in enumerate(zip(role.each, nearest, strict=True)):
                if asked > most:
                    return Impossible(names[resource], asked, most, "", role.name)
        return Impossible("", role.least, room, "", role.name)
    return None
