"""Lets events happen to jobs: where they stand, what is told of it, and the replicas that they are to have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pf_job.jobs.crew import last_starts, regrouped
from pf_job.jobs.domain import Happening, Job, JobChanged, Task
from pf_job.jobs.life import Event, Life, advance
from pf_job.jobs.spans import Turns, joined, turn
from pf_job.jobs.states import FINAL, Kind, Stage
from pf_job.jobs.store import JobStore
from pf_kit.unit import Change

SEEN = ("state", "message", "attempt", "retries", "grant", "not_before", "start_time", "finish_time", "replicas")
"""What people see of a life; the rest is how it is brought about."""
UNTOLD = frozenset(
    {
        *(Kind.SUBMITTED, Kind.REVISED, Kind.LAUNCHED, Kind.HALTED, Kind.GONE, Kind.RELEASED),
        *(Kind.SETTLED, Kind.PARTED, Kind.REGROUPED, Kind.FREED, Kind.RESIZED),
    }
)
"""Steps of the service itself. That they happened is seen by what follows: the state of a job that is over, for one."""

OF_SIZE = frozenset({Kind.GROWN, Kind.SHRUNK})
"""Told with the number of replicas, if it is another."""


@dataclass(frozen=True, slots=True)
class News:
    """An event, and the job it happened to."""

    job: str
    event: Event


async def tell(store: JobStore, change: Change, news: Sequence[News]) -> Sequence[Job]:
    """Lets events happen, in order; returns the jobs that changed, as they are now. The change holds their locks."""
    return await happen(store, change, await store.jobs(change, list({each.job: None for each in news})), news)


async def happen(store: JobStore, change: Change, jobs: Sequence[Job], news: Sequence[News]) -> Sequence[Job]:
    """The same for jobs that were read in this change."""
    by_job: defaultdict[str, list[Event]] = defaultdict(list)
    for each in news:
        _append(by_job[each.job], each.event)
    happenings: list[Happening] = []
    turns: dict[str, Turns] = {}
    moved: dict[str, tuple[Life, Job]] = {}
    for job in jobs:
        after, turned = job, []
        for event in by_job[job.id]:
            before, after = after, replace(after, life=advance(after.life, event, after.terms, change.time))
            turned.append(turn(before, after, event.time or change.time))
            if told := _told(before.life, after.life, event):
                happenings.append(_happening(before.life, after, event, told, change))
        if after.life != job.life:
            moved[job.id] = (job.life, after)
            turns[job.id] = joined(turned)
    saved = await store.save(change, [job for _, job in moved.values()])
    await _regroup(store, change, [(moved[job.id][0], job) for job in saved])
    await store.note(change, happenings)
    await store.hold(change, turns)
    for job in saved:
        if _visibly(moved[job.id][0], job.life):
            change.emit(JobChanged(job))
    return saved


def _append(events: list[Event], event: Event) -> None:
    """Of admissions heard together the last counts, which holds all: a job begins with what it has by then."""
    last = events[-1] if events else None
    if last and last.kind is event.kind is Kind.ADMITTED and last.attempt == event.attempt:
        events.pop()
    events.append(event)


async def _regroup(store: JobStore, change: Change, moved: Sequence[tuple[Life, Job]]) -> None:
    """Keeps the replicas of jobs that are to have others than before."""
    others = [(before, job) for before, job in moved if _has_others(before, job.life)]
    # Whoever had none at this attempt has none that are kept.
    known = await store.tasks(change, [job.id for before, job in others if _had_some(before, job.life)], 0)
    tasks: defaultdict[str, list[Task]] = defaultdict(list)
    for task in known:
        tasks[task.key.job].append(task)
    await store.put_tasks(
        change, [task for _, job in others for task in regrouped(job, last_starts(job, tasks[job.id]))]
    )


def _has_others(before: Life, after: Life) -> bool:
    if after.stage not in (Stage.LAUNCH, Stage.PART):
        return False
    return before.attempt != after.attempt or before.replicas != after.replicas


def _had_some(before: Life, after: Life) -> bool:
    return before.attempt == after.attempt and bool(before.replicas)


def _told(before: Life, after: Life, event: Event) -> str:
    """What is told of an event; empty if nothing."""
    same = _had_some(before, after) and before.replicas == after.replicas
    if after == before or (same and event.kind in (*OF_SIZE, Kind.ADMITTED)):
        return ""
    if event.kind not in UNTOLD:
        return event.kind
    return after.state if after.state is not before.state and after.state in FINAL else ""


def _visibly(before: Life, after: Life) -> bool:
    return any(getattr(before, field) != getattr(after, field) for field in SEEN)


def _happening(before: Life, job: Job, event: Event, what: str, change: Change) -> Happening:
    life = job.life
    return Happening(
        job=job.id,
        number=0,
        time=change.time,
        attempt=event.attempt or life.attempt,
        state=life.state,
        what=what,
        message=_said(before, life, event),
    )


def _said(before: Life, after: Life, event: Event) -> str:
    if event.kind not in OF_SIZE:
        return event.message
    return f"{_sizes(before, after)}: {event.message}" if event.message else _sizes(before, after)


def _sizes(before: Life, after: Life) -> str:
    """From how many to how many replicas a job goes."""
    changed = ((role, before.replicas.get(role, 0), count) for role, count in after.replicas.items())
    return ", ".join(f"{role} from {old} to {new}" for role, old, new in changed if old != new)
