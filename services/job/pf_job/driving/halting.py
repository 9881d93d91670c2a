"""Ends the replicas of jobs."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence

from paddleflow.problems import Unavailable
from pf_job.driving.book import Book
from pf_job.driving.later import Later
from pf_job.driving.steps import Runtimes, cluster_of
from pf_job.jobs.domain import ENDED, Job, Task, TaskState
from pf_job.jobs.life import Event
from pf_job.jobs.states import Kind, Stage
from pf_job.jobs.telling import News
from pf_job.runtimes.port import Phase, ReplicaKey, Sighting
from pf_job.specs.defaults import GRACE
from pf_kit.clock import Clock

logger = logging.getLogger(__name__)

MICROSECONDS = 1_000_000
"""Of a second."""
UNBEGUN = "was stopped before it began"
See = Callable[[Sequence[Sighting]], Awaitable[object]]
"""Notes how replicas were seen."""


class Halting:
    """Ends replicas of jobs that are to end, and of those that go on with others."""

    def __init__(self, book: Book, runtimes: Runtimes, see: See, clock: Clock) -> None:
        self._book = book
        self._runtimes = runtimes
        self._see = see
        self._later = Later(clock)

    async def step(self) -> int:
        """Tells of how many jobs. Those whose runtime does not answer are left for later."""
        owed = await self._book.owed(Stage.HALT, Stage.PART, without=self._later.jobs())
        replicas = _to_end(owed, await self._book.tasks([job.id for job in owed]))
        alike: defaultdict[tuple[str, int], list[Job]] = defaultdict(list)
        for job in owed:
            alike[cluster_of(job), _patience(job)].append(job)
        news: list[News] = []
        for (cluster, patience), jobs in alike.items():
            try:
                keys = [key for job in jobs for key in replicas[job.id]]
                unbegun = await self._runtimes.of(cluster).stop(keys, patience)
            except Unavailable as problem:
                logger.warning("a runtime does not answer", extra={"cluster": cluster, "why": problem.message})
                self._later.leave(*(job.id for job in jobs))
            else:
                # First, so that a job of which this was not noted is halted again.
                await self._see([Sighting(key=key, phase=Phase.LOST, message=UNBEGUN) for key in unbegun])
                news += [News(job.id, _halted(job, gone=not replicas[job.id])) for job in jobs]
        await self._book.tell(news)
        # Behind those that were left there may be others.
        return len(owed)


def _patience(job: Job) -> int:
    """Microseconds between the word to end and the kill."""
    grace = GRACE if job.spec.limits.grace is None else job.spec.limits.grace
    return 0 if job.life.abrupt else round(grace.total_seconds() * MICROSECONDS)


def _halted(job: Job, *, gone: bool) -> Event:
    if job.life.stage is Stage.PART:
        return Event(kind=Kind.PARTED, attempt=job.life.attempt)
    return Event(kind=Kind.GONE if gone else Kind.HALTED, attempt=job.life.attempt)


def _to_end(jobs: Sequence[Job], tasks: Sequence[Task]) -> Mapping[str, Sequence[ReplicaKey]]:
    """The replicas of jobs that are to end: all that have not yet, or only those that their job does without."""
    found: dict[str, list[ReplicaKey]] = {job.id: [] for job in jobs}
    lives = {job.id: job.life for job in jobs}
    for task in tasks:
        key, life = task.key, lives[task.key.job]
        due = task.state is TaskState.STOPPING if life.stage is Stage.PART else task.state not in ENDED
        if due and key.attempt == life.attempt:
            found[key.job].append(key)
    return found
