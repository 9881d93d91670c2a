"""Why a workload waits, in terms of where and what."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from pf_queue.admission.core.amounts import JOBS
from pf_queue.admission.core.places import Admission, Place
from pf_queue.admission.core.pool import Pool
from pf_queue.admission.core.stands import Barrier
from pf_queue.admission.core.wishes import Tier
from pf_queue.admission.core.workloads import Workload


class Reason(StrEnum):
    """Why a workload waits."""

    NOT_CONSIDERED = "not_considered"
    QUEUE_FULL = "queue_full"
    NOTHING_TO_BORROW = "nothing_to_borrow"
    NO_MACHINE = "no_machine"
    USER_LIMIT = "user_limit"
    JOB_LIMIT = "job_limit"
    BEHIND = "behind"
    RESERVED = "reserved"
    RECLAIMING = "reclaiming"
    QUEUE_HELD = "queue_held"
    BACKOFF = "backoff"
    CLUSTER_OFFLINE = "cluster_offline"


@dataclass(frozen=True, slots=True)
class Shortage:
    """What is asked of a resource, and what there is of it for the taking."""

    asked: int
    free: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a workload waits."""

    reason: Reason
    place: str = ""
    """The queue that holds it up; empty for the machines, or if it is none."""
    short: dict[str, Shortage] = field(default_factory=dict)
    behind: str = ""
    """In a strict queue, the workload before it."""


def explain(pool: Pool, id_: str, now: int) -> Explanation:
    """Why a workload waits that is waiting."""
    workload = pool.waiting[id_]
    place = pool.yard.place(workload.queue)
    if id_ in pool.misfits:
        return Explanation(Reason.NO_MACHINE, short=_short_of_machines(pool, workload))
    if (stopped := next((at for at in place.path if at.admission is not Admission.OPEN), None)) is not None:
        reason = Reason.QUEUE_HELD if stopped.parent else Reason.CLUSTER_OFFLINE
        return Explanation(reason, stopped.name)
    if (booking := pool.bookings.get(id_)) is not None:
        at, short = _refusal(pool, workload, place)
        return Explanation(Reason.RESERVED if booking.starving else Reason.RECLAIMING, at, short)
    if not pool.contest.wish(id_, Tier.BASE):
        # Its time may have come, while the round that takes notice is still to be held.
        return Explanation(Reason.BACKOFF if workload.not_before > now else Reason.NOT_CONSIDERED)
    barrier = pool.contest.barrier(id_, Tier.BASE)
    if barrier is None:
        first = pool.contest.first(workload.queue) if place.strict else None
        if first is not None and first.id != id_:
            return Explanation(Reason.BEHIND, place.name, behind=first.id)
        return Explanation(Reason.NOT_CONSIDERED)
    return _held_up(pool, workload, place, barrier)


def _held_up(pool: Pool, workload: Workload, place: Place, barrier: Barrier) -> Explanation:
    if barrier.user:
        return Explanation(Reason.USER_LIMIT, barrier.place.name)
    if pool.bookings and pool.yard.held.refusal(place, workload.base) is None:
        return Explanation(Reason.RESERVED, barrier.place.name)
    at, short = _refusal(pool, workload, place)
    if not at:
        return Explanation(Reason.NOTHING_TO_BORROW, at, short)
    return Explanation(Reason.QUEUE_FULL if short else Reason.JOB_LIMIT, at, short)


def _refusal(pool: Pool, workload: Workload, place: Place) -> tuple[str, dict[str, Shortage]]:
    """Where a workload lacks what. No resource at all means that there are too many workloads."""
    ledger = pool.yard.booked if workload.id not in pool.bookings else pool.yard.held
    refusal = ledger.refusal(place, workload.base)
    if refusal is None:
        return "", {}
    at, lacking = refusal
    names = pool.yard.tree.space.names
    return at.name, {
        names[resource]: Shortage(workload.base[resource], max(0, ledger.free(at, resource)))
        for resource in lacking
        if resource != JOBS
    }


def _short_of_machines(pool: Pool, workload: Workload) -> dict[str, Shortage]:
    """What the best machine has too little of for a replica."""
    names = pool.yard.tree.space.names
    for role in workload.roles:
        if role.least and pool.machines.room(role.each) < role.least:
            size = pool.machines.nearest(role.each) or pool.yard.tree.space.nothing
            return {
                names[resource]: Shortage(amount, size[resource])
                for resource, amount in enumerate(role.each)
                if amount > size[resource]
            }
    return {}
