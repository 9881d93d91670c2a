"""Lets events happen to jobs: where they stand, what is told of it, and the replicas that they are to have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pf_job.jobs.domain import Happening, Job, JobChanged, Task, TaskKey
from pf_job.jobs.life import Event, Life, advance
from pf_job.jobs.spans import Turns, joined, turn
from pf_job.jobs.states import FINAL, Kind, Stage
from pf_job.jobs.store import JobStore
from pf_kit.unit import Change

SEEN = ("state", "message", "attempt", "retries", "grant", "not_before", "start_time", "finish_time")
"""What people see of a life; the rest is how it is brought about."""
UNTOLD = frozenset({Kind.SUBMITTED, Kind.LAUNCHED, Kind.HALTED, Kind.GONE, Kind.RELEASED})
"""Steps of the service itself. That they happened is seen by what follows: the state of a job that is over, for one."""


@dataclass(frozen=True, slots=True)
class News:
    """An event, and the job it happened to."""

    job: str
    event: Event


async def tell(store: JobStore, change: Change, news: Sequence[News]) -> Sequence[Job]:
    """Lets events happen, in order; returns the jobs that changed, as they are now. The change holds their locks."""
    by_job: defaultdict[str, list[Event]] = defaultdict(list)
    for each in news:
        by_job[each.job].append(each.event)
    found = await store.jobs(change, list(by_job))
    happenings: list[Happening] = []
    turns: dict[str, Turns] = {}
    moved: dict[str, tuple[Life, Job]] = {}
    for job in found:
        after, turned = job, []
        for event in by_job[job.id]:
            before, after = after, replace(after, life=advance(after.life, event, after.terms, change.time))
            turned.append(turn(before, after, event.time or change.time))
            if told := _told(before.life, after.life, event):
                happenings.append(_happening(after, event, told, change))
        if after.life != job.life:
            moved[job.id] = (job.life, after)
            turns[job.id] = joined(turned)
    saved = await store.save(change, [job for _, job in moved.values()])
    await store.put_tasks(change, [task for job in saved for task in _new_tasks(moved[job.id][0], job)])
    await store.note(change, happenings)
    await store.hold(change, turns)
    for job in saved:
        if _visibly(moved[job.id][0], job.life):
            change.emit(JobChanged(job))
    return saved


def expected(job: Job) -> Iterator[TaskKey]:
    """The replicas that a job is to have by what it holds, as they were at first."""
    if job.life.grant is not None:
        for role, count in job.life.grant.replicas.items():
            for index in range(count):
                yield TaskKey(job.id, job.life.attempt, role, index)


def _new_tasks(before: Life, job: Job) -> Iterator[Task]:
    if job.life.stage is not Stage.LAUNCH or job.life.grant is None:
        return
    had = before.grant.replicas if before.grant is not None and before.attempt == job.life.attempt else {}
    for key in expected(job):
        if key.index >= had.get(key.role, 0):
            yield Task(key=key)


def _told(before: Life, after: Life, event: Event) -> str:
    """What is told of an event; empty if nothing."""
    if after == before:
        return ""
    if event.kind not in UNTOLD:
        return event.kind
    return after.state if after.state is not before.state and after.state in FINAL else ""


def _visibly(before: Life, after: Life) -> bool:
    return any(getattr(before, field) != getattr(after, field) for field in SEEN)


def _happening(job: Job, event: Event, what: str, change: Change) -> Happening:
    life = job.life
    return Happening(
        job=job.id,
        number=0,
        time=change.time,
        attempt=event.attempt or life.attempt,
        state=life.state,
        what=what,
        message=event.message,
    )
