"""What becomes of jobs by what their replicas were seen to do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pf_job.driving.book import Book
from pf_job.driving.judging import Judgement, fallen, judge, outcome, said
from pf_job.frameworks.registry import together
from pf_job.jobs.crew import expected, is_free, last_starts, members, newcomers, regrouped
from pf_job.jobs.domain import ENDED, Happening, Job, Task, TaskKey, TaskState
from pf_job.jobs.life import Event
from pf_job.jobs.states import Kind
from pf_job.jobs.store import JobStore
from pf_job.jobs.telling import News, happen
from pf_job.runtimes.port import Phase, Sighting

MICROSECONDS = 1_000_000
"""Of a second."""


@dataclass(frozen=True, slots=True)
class _View:
    """What was seen of one job: what changes for its replicas, what is told of it, and what happens to it."""

    tasks: Sequence[Task]
    happenings: Sequence[Happening]
    news: Sequence[News]


async def see(book: Book, store: JobStore, sightings: Sequence[Sighting]) -> Sequence[Job]:
    """Notes what replicas were seen to do, and lets it happen to their jobs; returns those that changed."""
    by_job: defaultdict[str, dict[TaskKey, Sighting]] = defaultdict(dict)
    for sighting in sightings:
        by_job[sighting.key.job][sighting.key] = sighting
    if not by_job:
        return []
    ids = list(by_job)
    async with book.change(ids) as change:
        tasks: defaultdict[str, list[Task]] = defaultdict(list)
        for task in await store.tasks(change, ids, 0):
            tasks[task.key.job].append(task)
        jobs = await store.jobs(change, ids)
        views = [_see(change.time, job, tasks[job.id], by_job[job.id]) for job in jobs]
        # For all jobs at once: most are seen together with many others.
        await store.put_tasks(change, [task for view in views for task in view.tasks])
        await store.note(change, [happening for view in views for happening in view.happenings])
        changed = await happen(store, change, jobs, [news for view in views for news in view.news])
    return book.noted(changed)


def _see(moment: datetime, job: Job, tasks: Sequence[Task], sightings: Mapping[TaskKey, Sighting]) -> _View:
    after = [seen(job, task, sightings[task.key]) if task.key in sightings else task for task in tasks]
    found = _judged(job, after)
    if found.culprit is not None:
        fell = fallen(job, after, found.culprit)
        after = [replace(task, state=TaskState.STOPPED) if task.key in fell else task for task in after]
    changed = [(old, new) for old, new in zip(tasks, after, strict=True) if old != new]
    last = last_starts(job, after)
    again, together_anew = [_started_again(task) for task in found.again], _regrouped(job, last, found)
    badly = [_happening(job, new, f"task-{new.state}", moment) for old, new in changed if _ended_badly(old, new)]
    return _View(
        tasks=[*(new for _, new in changed), *again, *together_anew],
        happenings=[*badly, *(_happening(job, task, "task-restarted", moment) for task in again)],
        news=[News(job.id, event) for event in events(job, last, found, regrouped=bool(together_anew))],
    )


def _judged(job: Job, tasks: Sequence[Task]) -> Judgement:
    """What is to become of a job that goes on; nothing new as long as its replicas are ended to be started again."""
    last = last_starts(job, tasks)
    if job.life.ending is not None or (together(job.spec) and _regroups(job, last)):
        return Judgement()
    return judge(job, tasks)


def _regroups(job: Job, last: Sequence[Task]) -> bool:
    ending = any(task.state is TaskState.STOPPING for task in last)
    return ending or any(task.state is TaskState.STOPPED for task in members(job, last))


def _regrouped(job: Job, last: Sequence[Task], found: Judgement) -> Sequence[Task]:
    """What changes for those that are all started again together."""
    if job.life.ending is not None or found.verdict is not None or not together(job.spec):
        return []
    if found.culprit is not None:
        # With a smaller crew they are, as soon as it is known that it is smaller.
        return [] if found.left is not None else regrouped(job, last)
    return newcomers(job, last)


def seen(job: Job, task: Task, sighting: Sighting) -> Task:
    """A replica after it was seen; what is over stays as it is."""
    if task.state in ENDED or sighting.phase is Phase.STARTING:
        return task
    told = replace(
        task,
        message=sighting.message or task.message,
        machine=sighting.machine or task.machine,
        accelerators=sighting.accelerators or task.accelerators,
        start_time=_time(sighting.started) or task.start_time,
    )
    if sighting.phase is Phase.RUNNING:
        return told if task.state is TaskState.STOPPING else replace(told, state=TaskState.RUNNING)
    ended = replace(told, status=sighting.status, signal=sighting.signal, finish_time=_time(sighting.ended))
    return replace(ended, state=_how(job, task, sighting))


def events(job: Job, last: Sequence[Task], found: Judgement, *, regrouped: bool = False) -> Iterator[Event]:
    """What has happened to a job whose attempt has these replicas."""
    attempt, verdict = job.life.attempt, found.verdict
    if _is_whole(job, last):
        times = [task.start_time for task in members(job, last)]
        yield Event(kind=Kind.RUNNING, attempt=attempt, time=_last(times))
    if verdict is None:
        yield from _goes_on(job, last, found, regrouped=regrouped)
    else:
        yield Event(
            kind=Kind.ENDED, attempt=attempt, ending=verdict.ending, message=verdict.message, status=verdict.status
        )
    over = last and all(task.state in ENDED for task in last)
    if over and not found.again and not regrouped:
        yield Event(kind=Kind.GONE, attempt=attempt, time=_last(task.finish_time for task in last))


def _is_whole(job: Job, last: Sequence[Task]) -> bool:
    """True if all replicas have begun that there are to be, and none of the others is left."""
    crew = members(job, last)
    there = {(task.key.role, task.key.index) for task in crew}
    whole = bool(crew) and all((key.role, key.index) in there for key in expected(job))
    return whole and all(task.start_time for task in crew) and not _regroups(job, last)


def _goes_on(job: Job, last: Sequence[Task], found: Judgement, *, regrouped: bool) -> Iterator[Event]:
    attempt, grant = job.life.attempt, job.life.grant
    if found.culprit is not None and found.left is not None and grant is not None:
        message = f"{said(found.culprit, last)}, and is given up"
        fewer = Event(kind=Kind.SHRUNK, attempt=attempt, left=found.left, version=grant.version + 1, message=message)
        yield replace(fewer, own=True)
    elif found.culprit is not None:
        message = f"{said(found.culprit, last)}; all are started again"
        yield Event(kind=Kind.REGROUPING, attempt=attempt, message=message)
    elif found.again:
        yield Event(kind=Kind.RESTARTED, attempt=attempt)
    elif regrouped:
        yield Event(kind=Kind.REGROUPED, attempt=attempt)
    if is_free(job, last):
        yield Event(kind=Kind.FREED, attempt=attempt)


def _started_again(task: Task) -> Task:
    return Task(key=replace(task.key, restart=task.key.restart + 1), ports=task.ports)


def _how(job: Job, task: Task, sighting: Sighting) -> TaskState:
    if task.state is TaskState.STOPPING:
        return TaskState.STOPPED
    halted = job.life.ending is not None or task.key.attempt != job.life.attempt
    if sighting.phase is Phase.LOST:
        return TaskState.STOPPED if halted else TaskState.LOST
    if sighting.status == 0:
        return TaskState.SUCCEEDED
    return TaskState.STOPPED if halted else TaskState.FAILED


def _ended_badly(before: Task, after: Task) -> bool:
    return before.state is not after.state and after.state in (TaskState.FAILED, TaskState.LOST)


def _happening(job: Job, task: Task, what: str, moment: datetime) -> Happening:
    return Happening(
        job=job.id,
        number=0,
        time=moment,
        attempt=task.key.attempt,
        state=job.life.state,
        what=what,
        message=task.message or (outcome(task) if task.state in ENDED else ""),
        role=task.key.role,
        index=task.key.index,
    )


def _last(times: Iterable[datetime | None]) -> datetime | None:
    """The last of these; None if one is not known, or if there are none."""
    found = list(times)
    known = [time for time in found if time is not None]
    return max(known) if found and len(known) == len(found) else None


def _time(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else datetime.fromtimestamp(microseconds / MICROSECONDS, UTC)
