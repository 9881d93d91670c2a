"""What a job is owed at each stage. Each step may be cut off anywhere, and is then done again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from pf_job.driving.book import Book
from pf_job.driving.ports import Admission, AttemptKey, GivenBack, Submitted
from pf_job.driving.wishes import left_of, wish_of
from pf_job.jobs.domain import Job
from pf_job.jobs.life import Ending, Event, Grant
from pf_job.jobs.states import Kind, Stage
from pf_job.jobs.telling import News
from pf_job.runtimes.port import Runtime


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


async def revise(book: Book, admission: Admission) -> int:
    """Tells queues what jobs that wait in them ask for by now; tells of how many."""
    jobs = await book.owed(Stage.REVISE)
    if jobs:
        await admission.revise([wish_of(job) for job in jobs])
    await book.tell([News(job.id, _revised(job)) for job in jobs])
    return len(jobs)


async def give_back(book: Book, admission: Admission) -> int:
    """Gives back what jobs hold, or what they hold too much; tells of how many."""
    owed = await book.owed(Stage.RELEASE, Stage.RESIZE)
    over = [job for job in owed if job.life.stage is Stage.RELEASE]
    held = await admission.release([_given_back(job) for job in over]) if over else {}
    await book.tell([News(job.id, event) for job in over for event in _released(job, held)])
    await _resize(book, admission, [job for job in owed if job.life.stage is Stage.RESIZE])
    return len(owed)


async def _resize(book: Book, admission: Admission, jobs: Sequence[Job]) -> None:
    smaller = {job.id: left for job in jobs if (left := left_of(job)) is not None}
    held = await admission.resize(list(smaller.values())) if smaller else {}
    await book.tell([News(job.id, _resized(job, held)) for job in jobs])


def cluster_of(job: Job) -> str:
    """Where the replicas of a job are; whoever has replicas holds something."""
    if job.life.grant is None:
        raise ValueError(f"job {job.id} at stage {job.life.stage} holds nothing")
    return job.life.grant.cluster


def _submitted(job: Job, submitted: Submitted) -> Event:
    key = AttemptKey(job.id, job.life.attempt)
    if problem := submitted.refused.get(key):
        return Event(kind=Kind.REFUSED, attempt=key.attempt, message=problem.message)
    if grant := submitted.admitted.get(key):
        return Event(kind=Kind.ADMITTED, attempt=key.attempt, grant=grant)
    revision = submitted.older.get(key, job.life.revision)
    return Event(kind=Kind.SUBMITTED, attempt=key.attempt, revision=revision)


def _revised(job: Job) -> Event:
    return Event(kind=Kind.REVISED, attempt=job.life.attempt, revision=job.life.revision)


def _given_back(job: Job) -> GivenBack:
    life = job.life
    ending = life.ending or Ending.STOPPED
    if ending is Ending.EVICTED and not job.terms.requeue:
        ending = Ending.FATAL
    return GivenBack(AttemptKey(job.id, life.attempt), life.grant.id if life.grant else "", ending)


def _released(job: Job, held: Mapping[AttemptKey, Grant | None]) -> Iterator[Event]:
    key = AttemptKey(job.id, job.life.attempt)
    if grant := held.get(key):
        yield Event(kind=Kind.ADMITTED, attempt=key.attempt, grant=grant)
        return
    yield Event(kind=Kind.RELEASED, attempt=key.attempt)
    if key in held:
        yield Event(kind=Kind.UNKNOWN, attempt=key.attempt + 1)


def _resized(job: Job, held: Mapping[AttemptKey, Grant]) -> Event:
    life = job.life
    left = life.grant.left if life.grant else None
    return Event(kind=Kind.RESIZED, attempt=life.attempt, left=left, grant=held.get(AttemptKey(job.id, life.attempt)))
