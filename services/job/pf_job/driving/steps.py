"""What a job is owed at each stage. Each step may be cut off anywhere, and is then done again."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Protocol

from paddleflow.problems import Problem, Unavailable
from pf_job.driving.book import Book
from pf_job.driving.ports import Admission, AttemptKey, GivenBack, Submitted
from pf_job.driving.wishes import wish_of
from pf_job.jobs.domain import Job
from pf_job.jobs.life import Ending, Event, Grant
from pf_job.jobs.states import Kind, Stage
from pf_job.jobs.telling import News, expected
from pf_job.runtimes.port import Launch, ReplicaKey, Runtime
from pf_job.specs.defaults import GRACE

logger = logging.getLogger(__name__)

MICROSECONDS = 1_000_000
"""Of a second."""


class Preparation(Protocol):
    """The port to what a replica needs before it can start."""

    async def launches(self, job: Job) -> Sequence[Launch]:
        """The replicas that a job is to have. Raises whatever is in the way."""


class Runtimes(Protocol):
    """Which runtime a cluster has."""

    def of(self, cluster: str) -> Runtime:
        """The runtime of a cluster. Raises Unavailable if it is not connected."""


async def submit(book: Book, admission: Admission) -> int:
    """Lets jobs wait in their queues; tells of how many."""
    jobs = await book.owed(Stage.SUBMIT)
    submitted = await admission.submit([wish_of(job) for job in jobs]) if jobs else Submitted()
    await book.tell([News(job.id, _submitted(job, submitted)) for job in jobs])
    return len(jobs)


async def launch(book: Book, preparation: Preparation, runtimes: Runtimes) -> int:
    """Starts the replicas of jobs; tells of how many. Those whose runtime does not answer are left for later."""
    news: list[News] = []
    launches: defaultdict[str, dict[str, Sequence[Launch]]] = defaultdict(dict)
    jobs = {job.id: job for job in await book.owed(Stage.LAUNCH)}
    for job in jobs.values():
        try:
            launches[_cluster(job)][job.id] = await preparation.launches(job)
        except Unavailable as problem:
            logger.warning("cannot prepare a job yet", extra={"job": job.id, "why": problem.message})
        except Problem as problem:
            news.append(News(job.id, _failed(job, problem)))
    for cluster, by_job in launches.items():
        news += await _start(runtimes, cluster, [(jobs[id_], each) for id_, each in by_job.items()])
    await book.tell(news)
    return len(news)


async def halt(book: Book, runtimes: Runtimes) -> int:
    """Ends the replicas of jobs; tells of how many. Those whose runtime does not answer are left for later."""
    alike: defaultdict[tuple[str, int], list[Job]] = defaultdict(list)
    for job in await book.owed(Stage.HALT):
        alike[_cluster(job), _patience(job)].append(job)
    news: list[News] = []
    for (cluster, patience), jobs in alike.items():
        try:
            await runtimes.of(cluster).stop([key for job in jobs for key in _replicas(job)], patience)
        except Unavailable as problem:
            logger.warning("a runtime does not answer", extra={"cluster": cluster, "why": problem.message})
        else:
            news += [News(job.id, Event(kind=Kind.HALTED, attempt=job.life.attempt)) for job in jobs]
    await book.tell(news)
    return len(news)


async def release(book: Book, admission: Admission) -> int:
    """Gives back what jobs hold; tells of how many."""
    jobs = await book.owed(Stage.RELEASE)
    held = await admission.release([_given_back(job) for job in jobs]) if jobs else {}
    await book.tell([News(job.id, _released(job, held)) for job in jobs])
    return len(jobs)


async def _start(runtimes: Runtimes, cluster: str, launches: Sequence[tuple[Job, Sequence[Launch]]]) -> Sequence[News]:
    try:
        refusals = await runtimes.of(cluster).start([each for _, group in launches for each in group])
    except Unavailable as problem:
        logger.warning("a runtime does not answer", extra={"cluster": cluster, "why": problem.message})
        return []
    refused = {refusal.key.job: refusal.problem for refusal in refusals}
    return [News(job.id, _failed(job, refused[job.id]) if job.id in refused else _launched(job)) for job, _ in launches]


def _cluster(job: Job) -> str:
    """Where the replicas of a job are; whoever has replicas holds something."""
    if job.life.grant is None:
        raise ValueError(f"job {job.id} at stage {job.life.stage} holds nothing")
    return job.life.grant.cluster


def _patience(job: Job) -> int:
    """Microseconds between the word to end and the kill."""
    grace = job.spec.limits.grace or GRACE
    return 0 if job.life.abrupt else round(grace.total_seconds() * MICROSECONDS)


def _replicas(job: Job) -> Sequence[ReplicaKey]:
    return [ReplicaKey(key.job, key.attempt, key.role, key.index, key.restart) for key in expected(job)]


def _submitted(job: Job, submitted: Submitted) -> Event:
    key = AttemptKey(job.id, job.life.attempt)
    if problem := submitted.refused.get(key):
        return Event(kind=Kind.REFUSED, attempt=key.attempt, message=problem.message)
    if grant := submitted.admitted.get(key):
        return Event(kind=Kind.ADMITTED, attempt=key.attempt, grant=grant)
    return Event(kind=Kind.SUBMITTED, attempt=key.attempt)


def _launched(job: Job) -> Event:
    return Event(kind=Kind.LAUNCHED, attempt=job.life.attempt)


def _failed(job: Job, problem: Problem) -> Event:
    return Event(kind=Kind.ENDED, attempt=job.life.attempt, ending=Ending.FAILED, message=problem.message)


def _given_back(job: Job) -> GivenBack:
    life = job.life
    ending = life.ending or Ending.STOPPED
    if ending is Ending.EVICTED and not job.terms.requeue:
        ending = Ending.FATAL
    return GivenBack(AttemptKey(job.id, life.attempt), life.grant.id if life.grant else "", ending)


def _released(job: Job, held: Mapping[AttemptKey, Grant]) -> Event:
    grant = held.get(AttemptKey(job.id, job.life.attempt))
    kind = Kind.RELEASED if grant is None else Kind.ADMITTED
    return Event(kind=kind, attempt=job.life.attempt, grant=grant)
