"""The replicas that a job is to have now: who of them is there, who joins, and who is to end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pf_job.frameworks.registry import together
from pf_job.jobs.domain import ENDED, Job, Task, TaskKey, TaskState

BAD = frozenset({TaskState.FAILED, TaskState.LOST})
"""How a replica ends by itself that has not done its work."""


def expected(job: Job) -> Iterator[TaskKey]:
    """The replicas that a job is to have, as they are at first."""
    for role, count in job.life.replicas.items():
        for index in range(count):
            yield TaskKey(job.id, job.life.attempt, role, index)


def last_starts(job: Job, tasks: Sequence[Task]) -> Sequence[Task]:
    """The replicas of the attempt that a job is at, each as it was started last."""
    mine = sorted((task for task in tasks if task.key.attempt == job.life.attempt), key=lambda task: task.key)
    return list({(task.key.role, task.key.index): task for task in mine}.values())


def members(job: Job, last: Sequence[Task]) -> Sequence[Task]:
    """Those who belong to the crew as it is to be now."""
    return [task for task in last if _belongs(job, task)]


def is_free(job: Job, last: Sequence[Task]) -> bool:
    """True if a job gives back replicas of which none is left."""
    gives = job.life.grant is not None and job.life.grant.left is not None
    return gives and all(task.state in ENDED or _belongs(job, task) for task in last)


def regrouped(job: Job, last: Sequence[Task]) -> Sequence[Task]:
    """What changes when the crew is to be another: whose end is due, and who joins."""
    whole = together(job.spec)
    ending = [stopping(task) for task in last if task.state not in ENDED and (whole or not _belongs(job, task))]
    by_slot = {(task.key.role, task.key.index): task for task in (*last, *ending)}
    return [*ending, *newcomers(job, list(by_slot.values()))]


def newcomers(job: Job, last: Sequence[Task]) -> Sequence[Task]:
    """The starts of replicas that are to be there and are not. Of those that are started again together, none as long
    as one of them is left: it could be taken for one of the new crew.
    """
    whole = together(job.spec)
    if whole and any(task.state not in ENDED for task in last):
        return []
    by_slot = {(task.key.role, task.key.index): task for task in last}
    starts = [_start(key, by_slot.get((key.role, key.index)), whole=whole) for key in expected(job)]
    return [task for task in starts if task is not None]


def stopping(task: Task) -> Task:
    return replace(task, state=TaskState.STOPPING)


def _start(key: TaskKey, before: Task | None, *, whole: bool) -> Task | None:
    """The next start of a replica; None if it is not to be started now."""
    if before is None:
        return Task(key=key)
    if before.state is TaskState.STOPPED or (whole and before.state in BAD):
        return Task(key=replace(before.key, restart=before.key.restart + 1))
    return None


def _belongs(job: Job, task: Task) -> bool:
    return task.key.index < job.life.replicas.get(task.key.role, 0)
