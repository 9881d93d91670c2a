"""Starts the replicas of jobs."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol

from paddleflow.problems import Problem, Unavailable
from pf_job.driving.book import Book
from pf_job.driving.steps import Runtimes, cluster_of
from pf_job.jobs.domain import Job
from pf_job.jobs.life import Ending, Event
from pf_job.jobs.states import Kind, Stage
from pf_job.jobs.telling import News
from pf_job.runtimes.port import Launch
from pf_kit.clock import Clock

logger = logging.getLogger(__name__)

PATIENCE = 0.1
"""Seconds in which most replicas are seen to run. That says as well that they were started, and saves a commit."""


class Preparation(Protocol):
    """The port to what a replica needs before it can start."""

    async def launches(self, job: Job) -> Sequence[Launch]:
        """The replicas that a job is to have. Raises whatever is in the way."""


class Launching:
    """Starts each job once, and notes it for those of which nothing is seen soon."""

    def __init__(self, book: Book, preparation: Preparation, runtimes: Runtimes, clock: Clock) -> None:
        self._book = book
        self._preparation = preparation
        self._runtimes = runtimes
        self._clock = clock
        self._started: dict[tuple[str, int, int], float] = {}
        """By job, attempt and version of what it holds: when its replicas were started."""

    async def step(self) -> int:
        """Starts the replicas of jobs; tells of how many. Those whose runtime does not answer are left for later."""
        owed = {_name(job): job for job in await self._book.owed(Stage.LAUNCH)}
        self._started = {name: time for name, time in self._started.items() if name in owed}
        late = self._clock.monotonic() - PATIENCE
        news = [_launched(owed[name]) for name, time in self._started.items() if time < late]
        news += await self._launch([job for name, job in owed.items() if name not in self._started])
        await self._book.tell(news)
        return len(news)

    async def _launch(self, jobs: Sequence[Job]) -> list[News]:
        """Starts jobs; tells of those that cannot be."""
        launches: defaultdict[str, list[tuple[Job, Sequence[Launch]]]] = defaultdict(list)
        news: list[News] = []
        for job in jobs:
            try:
                launches[cluster_of(job)].append((job, await self._preparation.launches(job)))
            except Unavailable as problem:
                logger.warning("cannot prepare a job yet", extra={"job": job.id, "why": problem.message})
            except Problem as problem:
                news.append(_failed(job, problem))
        for cluster, together in launches.items():
            news += await self._start(cluster, together)
        return news

    async def _start(self, cluster: str, together: Sequence[tuple[Job, Sequence[Launch]]]) -> Sequence[News]:
        try:
            runtime = self._runtimes.of(cluster)
            refusals = await runtime.start([launch for _, launches in together for launch in launches])
        except Unavailable as problem:
            logger.warning("a runtime does not answer", extra={"cluster": cluster, "why": problem.message})
            return []
        now = self._clock.monotonic()
        self._started.update({_name(job): now for job, _ in together})
        refused = {refusal.key.job: refusal.problem for refusal in refusals}
        return [_failed(job, refused[job.id]) for job, _ in together if job.id in refused]


def _name(job: Job) -> tuple[str, int, int]:
    return job.id, job.life.attempt, job.life.grant.version if job.life.grant else 0


def _launched(job: Job) -> News:
    return News(job.id, Event(kind=Kind.LAUNCHED, attempt=job.life.attempt))


def _failed(job: Job, problem: Problem) -> News:
    event = Event(kind=Kind.ENDED, attempt=job.life.attempt, ending=Ending.FAILED, message=problem.message)
    return News(job.id, event)
