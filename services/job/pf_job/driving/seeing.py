"""What becomes of jobs by what their replicas were seen to do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from pf_job.driving.book import Book
from pf_job.driving.judging import Judgement, judge, outcome
from pf_job.jobs.domain import ENDED, Happening, Job, Task, TaskKey, TaskState
from pf_job.jobs.life import Event
from pf_job.jobs.states import Kind
from pf_job.jobs.store import JobStore
from pf_job.jobs.telling import News, expected, tell
from pf_job.runtimes.port import Phase, Sighting
from pf_kit.unit import Change

MICROSECONDS = 1_000_000
"""Of a second."""


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
        news: list[News] = []
        for job in await store.jobs(change, ids):
            news += await _see(store, change, job, tasks[job.id], by_job[job.id])
        return await tell(store, change, news)


async def _see(
    store: JobStore, change: Change, job: Job, tasks: Sequence[Task], sightings: Mapping[TaskKey, Sighting]
) -> Sequence[News]:
    after = [seen(job, task, sightings[task.key]) if task.key in sightings else task for task in tasks]
    changed = [(old, new) for old, new in zip(tasks, after, strict=True) if old != new]
    crew = last_starts(job, after)
    found = judge(job, crew) if job.life.ending is None else Judgement()
    anew = [_started_again(task) for task in found.again]
    await store.put_tasks(change, [*(new for _, new in changed), *anew])
    badly = [_happening(job, new, f"task-{new.state}", change) for old, new in changed if _ended_badly(old, new)]
    await store.note(change, [*badly, *(_happening(job, task, "task-restarted", change) for task in anew)])
    return [News(job.id, event) for event in events(job, crew, found)]


def last_starts(job: Job, tasks: Sequence[Task]) -> Sequence[Task]:
    """The replicas of the attempt that a job is at, each as it was started last."""
    mine = sorted((task for task in tasks if task.key.attempt == job.life.attempt), key=lambda task: task.key)
    return list({(task.key.role, task.key.index): task for task in mine}.values())


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
        return replace(told, state=TaskState.RUNNING)
    ended = replace(told, status=sighting.status, signal=sighting.signal, finish_time=_time(sighting.ended))
    return replace(ended, state=_how(job, task, sighting))


def events(job: Job, crew: Sequence[Task], found: Judgement) -> Iterator[Event]:
    """What has happened to a job whose attempt has these replicas."""
    attempt, verdict = job.life.attempt, found.verdict
    wanted = {(key.role, key.index) for key in expected(job)}
    whole = wanted <= {(task.key.role, task.key.index) for task in crew}
    if whole and crew and all(task.start_time is not None for task in crew):
        yield Event(kind=Kind.RUNNING, attempt=attempt, time=_last(task.start_time for task in crew))
    if found.again and verdict is None:
        yield Event(kind=Kind.RESTARTED, attempt=attempt)
        return
    if verdict is not None:
        yield Event(
            kind=Kind.ENDED, attempt=attempt, ending=verdict.ending, message=verdict.message, status=verdict.status
        )
    if whole and all(task.state in ENDED for task in crew):
        yield Event(kind=Kind.GONE, attempt=attempt, time=_last(task.finish_time for task in crew))


def _started_again(task: Task) -> Task:
    return Task(key=replace(task.key, restart=task.key.restart + 1), ports=task.ports)


def _how(job: Job, task: Task, sighting: Sighting) -> TaskState:
    halted = job.life.ending is not None or task.key.attempt != job.life.attempt
    if sighting.phase is Phase.LOST:
        return TaskState.STOPPED if halted else TaskState.LOST
    if sighting.status == 0:
        return TaskState.SUCCEEDED
    return TaskState.STOPPED if halted else TaskState.FAILED


def _ended_badly(before: Task, after: Task) -> bool:
    return before.state is not after.state and after.state in (TaskState.FAILED, TaskState.LOST)


def _happening(job: Job, task: Task, what: str, change: Change) -> Happening:
    return Happening(
        job=job.id,
        number=0,
        time=change.time,
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
