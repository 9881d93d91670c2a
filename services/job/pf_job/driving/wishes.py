"""What an attempt of a job asks for in its queue."""

from __future__ import annotations

from datetime import timedelta

from pf_job.driving.ports import AttemptKey, Left, RoleWish, Wish
from pf_job.jobs.domain import Job
from pf_job.specs.defaults import GRACE
from pf_job.specs.domain import Member, Priority


def wish_of(job: Job) -> Wish:
    """The wish of the attempt that a job is at; its spec has all defaults filled in."""
    work, limits = job.spec.work, job.spec.limits
    priority = work.scheduling_policy.priority or Priority.NORMAL
    return Wish(
        key=AttemptKey(job.id, job.life.attempt),
        queue=job.queue,
        user=job.owner,
        priority=priority.weight,
        roles=[_role_wish(member) for member in job.spec.crew],
        grace=GRACE if limits.grace is None else limits.grace,
        protected=limits.protected or timedelta(0),
        revision=job.life.revision,
    )


def left_of(job: Job) -> Left | None:
    """What the attempt that a job is at keeps, of more that it held; None if it gives nothing back."""
    grant = job.life.grant
    if grant is None or grant.left is None:
        return None
    above: dict[str, int] = {
        member.role: grant.left.get(member.role, member.replicas) - member.replicas for member in job.spec.crew
    }
    return Left(AttemptKey(job.id, job.life.attempt), grant.id, above)


def _role_wish(member: Member) -> RoleWish:
    return RoleWish(member.role, member.replicas, member.most, member.replica_step or 1, member.work.flavour.amounts)
