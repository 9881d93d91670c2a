"""What a spec means where it says nothing: the job for its members, and we for the job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta

from pf_job.specs.domain import (
    CPU,
    DEFAULT_QUEUE,
    MEMORY,
    FilesystemMount,
    Flavour,
    JobSpec,
    Member,
    Priority,
    RetryPolicy,
    SchedulingPolicy,
    TimeLimits,
    Work,
)

SMALLEST = Flavour(amounts={CPU: 1000, MEMORY: 2**30})
"""What a replica takes if nothing is said: one core and 1Gi."""
BACKOFF = timedelta(seconds=10)
LONGEST_BACKOFF = timedelta(minutes=10)
GRACE = timedelta(seconds=30)


def filled(spec: JobSpec, kept: timedelta) -> JobSpec:
    """The same job with everything said, but for what must be looked up. It is to have an id by now.

    To fill it again changes nothing.
    """
    work = _filled_work(spec.work)
    return replace(
        spec,
        name=spec.name or spec.id,
        work=work,
        members=tuple(_filled_member(work, member) for member in spec.members),
        retry=_filled_retry(spec.retry),
        limits=_filled_limits(spec.limits, kept),
    )


def joined(job: Work, member: Work) -> Work:
    """What the replicas of a member run: the member's own wins.

    The template of the job is that of one object for all of it, and therefore no member's.
    """
    return Work(
        labels={**job.labels, **member.labels},
        annotations={**job.annotations, **member.annotations},
        scheduling_policy=SchedulingPolicy(
            queue=member.scheduling_policy.queue or job.scheduling_policy.queue,
            priority=member.scheduling_policy.priority or job.scheduling_policy.priority,
        ),
        flavour=job.flavour if member.flavour.empty else member.flavour,
        limit_flavour=job.limit_flavour if member.limit_flavour.empty else member.limit_flavour,
        fs=member.fs or job.fs,
        extra_fs=_joined_mounts(job.extra_fs, member.extra_fs),
        image=member.image or job.image,
        env={name: value for name, value in job.env.items() if name not in member.secret_env} | dict(member.env),
        secret_env={name: file for name, file in job.secret_env.items() if name not in member.env}
        | dict(member.secret_env),
        command=member.command or job.command,
        args=member.args or (() if member.command else job.args),
        port=member.port or job.port,
        extension_template=member.extension_template,
    )


def flavour_names(spec: JobSpec) -> frozenset[str]:
    """The flavours to be looked up before the job can be filled."""
    works = [spec.work, *(member.work for member in spec.members)]
    flavours = [flavour for work in works for flavour in (work.flavour, work.limit_flavour.flavour)]
    return frozenset(flavour.name for flavour in flavours if flavour.named)


def with_flavours(spec: JobSpec, known: Mapping[str, Mapping[str, int]]) -> JobSpec:
    """The same job with the amounts of the flavours that it names."""
    return _each_work(spec, lambda work: _with_flavours(work, known))


def filesystem_names(spec: JobSpec) -> frozenset[str]:
    """The filesystems that are named without their id, to be looked up before the job can be filled."""
    works = [spec.work, *(member.work for member in spec.members)]
    return frozenset(mount.name for work in works for mount in work.mounts if not mount.id)


def with_filesystems(spec: JobSpec, ids: Mapping[str, str]) -> JobSpec:
    """The same job with the ids of the filesystems that it names."""

    def known(mount: FilesystemMount) -> FilesystemMount:
        return mount if mount.id else replace(mount, id=ids.get(mount.name, ""))

    return _each_work(
        spec,
        lambda work: replace(work, fs=known(work.fs) if work.fs else None, extra_fs=tuple(map(known, work.extra_fs))),
    )


def total(spec: JobSpec) -> dict[str, int]:
    """What all replicas take together, without surplus."""
    sums: dict[str, int] = {}
    for member in spec.crew:
        for resource, amount in member.work.flavour.amounts.items():
            sums[resource] = sums.get(resource, 0) + amount * member.replicas
    return sums


def limits(work: Work) -> Mapping[str, int]:
    """What a replica may use at most: of a resource that is not here, whatever there is."""
    if work.limit_flavour.none:
        return {}
    return {**work.flavour.amounts, **work.limit_flavour.flavour.amounts}


def _joined_mounts(
    job: tuple[FilesystemMount, ...], member: tuple[FilesystemMount, ...]
) -> tuple[FilesystemMount, ...]:
    taken = {mount.path or mount.name for mount in member}
    return (*(mount for mount in job if (mount.path or mount.name) not in taken), *member)


def _filled_work(work: Work) -> Work:
    policy = work.scheduling_policy
    return replace(
        work,
        scheduling_policy=SchedulingPolicy(
            queue=policy.queue or DEFAULT_QUEUE, priority=policy.priority or Priority.NORMAL
        ),
        flavour=SMALLEST if work.flavour.empty else work.flavour,
        fs=_filled_mount(work.fs) if work.fs else None,
        extra_fs=tuple(map(_filled_mount, work.extra_fs)),
    )


def _filled_member(job: Work, member: Member) -> Member:
    return replace(
        member,
        max_replicas=member.most,
        replica_step=member.replica_step or 1,
        work=_filled_work(joined(job, member.work)),
    )


def _filled_mount(mount: FilesystemMount) -> FilesystemMount:
    return replace(mount, mount_path=mount.path)


def _filled_retry(retry: RetryPolicy) -> RetryPolicy:
    backoff = BACKOFF if retry.backoff is None else retry.backoff
    longest = max(LONGEST_BACKOFF, backoff) if retry.max_backoff is None else retry.max_backoff
    return replace(retry, backoff=backoff, max_backoff=longest)


def _filled_limits(limits: TimeLimits, kept: timedelta) -> TimeLimits:
    return replace(
        limits,
        grace=GRACE if limits.grace is None else limits.grace,
        kept=kept if limits.kept is None else limits.kept,
    )


def _each_work(spec: JobSpec, change: Callable[[Work], Work]) -> JobSpec:
    members = tuple(replace(member, work=change(member.work)) for member in spec.members)
    return replace(spec, work=change(spec.work), members=members)


def _with_flavours(work: Work, known: Mapping[str, Mapping[str, int]]) -> Work:
    return replace(
        work,
        flavour=_looked_up(work.flavour, known),
        limit_flavour=replace(work.limit_flavour, flavour=_looked_up(work.limit_flavour.flavour, known)),
    )


def _looked_up(flavour: Flavour, known: Mapping[str, Mapping[str, int]]) -> Flavour:
    return replace(flavour, amounts=known[flavour.name]) if flavour.name in known and flavour.named else flavour
