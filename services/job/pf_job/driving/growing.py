"""What becomes of jobs because time goes by: their limits are over, or they grow."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from pf_job.driving.book import Book
from pf_job.jobs.crew import last_starts, members
from pf_job.jobs.domain import Job, Task, TaskState
from pf_job.jobs.dues import overdue
from pf_job.jobs.life import Event
from pf_job.jobs.states import Kind
from pf_job.jobs.telling import News


async def fall_due(book: Book, now: datetime) -> int:
    """Lets happen what is due; tells to how many jobs that are not to be looked at again at once."""
    jobs = await book.overdue()
    events = {job.id: overdue(job.life, job.terms, now) for job in jobs}
    growing = [job for job in jobs if events[job.id].kind is Kind.GROWN]
    done = _somebody_is_done(growing, await book.tasks([job.id for job in growing]))
    changed = await book.tell([News(job.id, _in_time(events[job.id], job.id in done)) for job in jobs])
    return sum(job.id not in done for job in changed)


def _in_time(event: Event, done: bool) -> Event:
    """Nobody joins a crew of which somebody is done: the others are about to be."""
    return replace(event, kind=Kind.SETTLED) if done else event


def _somebody_is_done(jobs: Sequence[Job], tasks: Sequence[Task]) -> Collection[str]:
    crews = {job.id: members(job, last_starts(job, [task for task in tasks if task.key.job == job.id])) for job in jobs}
    return {id_ for id_, crew in crews.items() if any(task.state is TaskState.SUCCEEDED for task in crew)}
