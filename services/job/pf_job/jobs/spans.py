"""What jobs hold while they run, from when to when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pf_job.jobs.domain import Job
from pf_job.jobs.life import Life
from pf_job.jobs.states import WITHOUT, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A time in which an attempt of a job held the same all along."""

    job: str
    attempt: int
    queue: str
    owner: str
    owner_since: datetime | None = None
    accept_time: datetime
    """Of the job."""
    start_time: datetime
    finish_time: datetime | None = None
    """None as long as it is held."""
    held: Mapping[str, int]
    """By resource."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A change of what a job holds."""

    ended: datetime | None = None
    """When what it held before was held no more; None if it held nothing."""
    begun: Span | None = None
    """What it holds from now on; None if nothing."""


@dataclass(frozen=True, slots=True)
class Turns:
    """All that became of what a job holds."""

    ended: datetime | None
    """When the span that is kept of it was over; None if it goes on, or if there is none."""
    begun: Sequence[Span]


def turn(before: Job, after: Job, time: datetime) -> Turn:
    """What changed for a job that ran, or runs now: it holds what it was granted until none of its replicas is left."""
    old, new = before.life, after.life
    if new.state is State.RUNNING and _has_replicas(new):
        begins = old.state is not State.RUNNING or old.attempt != new.attempt
        if begins:
            return Turn(begun=_span(after, time))
        if held(before) != held(after):
            return Turn(ended=time, begun=_span(after, time))
    elif _has_replicas(old) and not _has_replicas(new):
        return Turn(ended=time)
    return Turn()


def joined(turns: Sequence[Turn]) -> Turns:
    """What turns of one job come to, in order."""
    ended: datetime | None = None
    begun: list[Span] = []
    for each in turns:
        if each.ended is not None and not begun:
            ended = each.ended
        elif each.ended is not None and begun[-1].finish_time is None:
            begun[-1] = replace(begun[-1], finish_time=max(begun[-1].start_time, each.ended))
        begun += [] if each.begun is None else [each.begun]
    return Turns(ended, begun)


def held(job: Job) -> Mapping[str, int]:
    """What an attempt holds by its grant, by resource."""
    replicas = job.life.grant.replicas if job.life.grant else {}
    sums: Counter[str] = Counter()
    for member in job.spec.crew:
        for resource, amount in member.work.flavour.amounts.items():
            sums[resource] += amount * replicas.get(member.role, 0)
    return sums


def _has_replicas(life: Life) -> bool:
    return life.stage not in WITHOUT


def _span(job: Job, time: datetime) -> Span:
    return Span(
        job=job.id,
        attempt=job.life.attempt,
        queue=job.queue,
        owner=job.owner,
        owner_since=job.owner_since,
        accept_time=job.life.accept_time,
        start_time=time,
        held=held(job),
    )
