"""Starts the replicas of jobs."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol

from paddleflow.problems import Problem, Unavailable
from pf_job.driving.book import Book
from pf_job.driving.crews import missing_ports, startable, with_ports
from pf_job.driving.later import Later
from pf_job.driving.steps import Runtimes, cluster_of
from pf_job.jobs.crew import is_free, last_starts, members
from pf_job.jobs.domain import Job, Task, TaskKey, TaskState
from pf_job.jobs.life import Ending, Event
from pf_job.jobs.ports import LASTING
from pf_job.jobs.states import Kind, Stage
from pf_job.jobs.telling import News
from pf_job.runtimes.port import Launch, Refused
from pf_kit.clock import Clock

logger = logging.getLogger(__name__)

PATIENCE = 0.1
"""Seconds in which most replicas are seen to run. That says as well that they were started, and saves a commit."""


class Preparation(Protocol):
    """The port to what a replica needs before it can start."""

    async def launches(self, job: Job, crew: Sequence[Task], tasks: Sequence[Task]) -> Sequence[Launch]:
        """The starts of some replicas of a crew. Raises whatever is in the way."""

    def free_ports(self, taken: Collection[int]) -> Iterator[int]:
        """Ports that replicas can listen on. Raises Unavailable if there are no more."""


class Launching:
    """Starts each replica once, and notes it for jobs of which nothing is seen soon."""

    def __init__(self, book: Book, preparation: Preparation, runtimes: Runtimes, clock: Clock) -> None:
        self._book = book
        self._preparation = preparation
        self._runtimes = runtimes
        self._clock = clock
        self._started: dict[TaskKey, float] = {}
        """When replicas were started that were not seen to begin yet."""
        self._later = Later(clock)

    async def step(self) -> int:
        """Starts the replicas of jobs; tells how many got further. What does not answer is left for later."""
        jobs = await self._book.owed(Stage.LAUNCH, Stage.RESIZE, without=self._later.jobs())
        last = await self._last_starts(jobs)
        crews = {job.id: members(job, last[job.id]) for job in jobs}
        waiting = {task.key for crew in crews.values() for task in crew if task.state is TaskState.PENDING}
        self._started = {key: time for key, time in self._started.items() if key in waiting}
        before = len(self._started)
        begun = [job for job in jobs if job.life.stage is Stage.LAUNCH and self._is_launched(crews[job.id])]
        news = [_launched(job, last[job.id]) for job in begun]
        news += await self._launch([(job, crews[job.id]) for job in jobs])
        await self._book.tell_launched(news, self._started)
        return len(news) + len(self._started) - before

    async def _last_starts(self, jobs: Sequence[Job]) -> Mapping[str, Sequence[Task]]:
        tasks: defaultdict[str, list[Task]] = defaultdict(list)
        for task in await self._book.tasks([job.id for job in jobs]):
            tasks[task.key.job].append(task)
        return {job.id: last_starts(job, tasks[job.id]) for job in jobs}

    def _is_launched(self, crew: Sequence[Task]) -> bool:
        """True if all are started that were not seen to begin, and had time to be."""
        late = self._clock.monotonic() - PATIENCE
        waiting = [task.key for task in crew if task.state is TaskState.PENDING]
        return all(self._started.get(key, late) < late for key in waiting)

    async def _launch(self, jobs: Sequence[tuple[Job, Sequence[Task]]]) -> list[News]:
        """Starts what can be started; tells of jobs that cannot be."""
        launches: defaultdict[str, list[Launch]] = defaultdict(list)
        news: list[News] = []
        for job, crew in jobs:
            tasks = [task for task in startable(job, crew) if task.key not in self._started]
            try:
                launches[cluster_of(job)] += await self._prepared(job, crew, tasks) if tasks else []
            except LASTING as problem:
                news.append(_failed(job, problem))
            except Problem as problem:
                logger.warning("cannot prepare a job yet", extra={"job": job.id, "why": problem.message})
                self._later.leave(job.id)
        by_id = {job.id: job for job, _ in jobs}
        for cluster, together in launches.items():
            news += [_failed(by_id[id_], problem) for id_, problem in (await self._start(cluster, together)).items()]
        return news

    async def _prepared(self, job: Job, crew: Sequence[Task], tasks: Sequence[Task]) -> Sequence[Launch]:
        if missing_ports(job, crew):
            # Kept before anybody hears of them: whoever starts the others after a crash must tell them the same.
            before, crew = crew, with_ports(job, crew, self._preparation.free_ports(await self._book.ports()))
            found = [task for task, old in zip(crew, before, strict=True) if task != old]
            kept = {task.key: task for task in await self._book.put_ports(job.id, found)}
            crew = [kept.get(task.key, task) for task in crew]
        keys = {task.key for task in tasks}
        due = [task for task in crew if task.key in keys and task.state is TaskState.PENDING]
        return await self._preparation.launches(job, crew, due)

    async def _start(self, cluster: str, together: Sequence[Launch]) -> Mapping[str, Problem]:
        """Why jobs cannot be started, if some cannot."""
        if not together:
            return {}
        try:
            told = await self._runtimes.of(cluster).start(together)
        except Unavailable as problem:
            logger.warning("a runtime does not answer", extra={"cluster": cluster, "why": problem.message})
            self._later.leave(*(launch.key.job for launch in together))
            return {}
        waiting = {refusal.key for refusal in told if isinstance(refusal.problem, Unavailable)}
        self._later.leave(*(key.job for key in waiting))
        refusals = [refusal for refusal in told if refusal.key not in waiting]
        now = self._clock.monotonic()
        for launch in together:
            if launch.key not in waiting:
                self._started[launch.key] = now
        return {refusal.key.job: refusal.problem for refusal in await self._meant(refusals)}

    async def _meant(self, refusals: Sequence[Refused]) -> Sequence[Refused]:
        """Those that matter. Who is told to end before the word to begin arrives is refused that, as it is to be."""
        tasks = await self._book.tasks([refusal.key.job for refusal in refusals]) if refusals else ()
        waiting = {task.key for task in tasks if task.state is TaskState.PENDING}
        return [refusal for refusal in refusals if refusal.key in waiting]


def _launched(job: Job, last: Sequence[Task]) -> News:
    """Nothing is owed to its replicas now; perhaps it has something to give back."""
    kind = Kind.FREED if is_free(job, last) else Kind.LAUNCHED
    return News(job.id, Event(kind=kind, attempt=job.life.attempt))


def _failed(job: Job, problem: Problem) -> News:
    event = Event(kind=Kind.ENDED, attempt=job.life.attempt, ending=Ending.FAILED, message=problem.message)
    return News(job.id, event)
