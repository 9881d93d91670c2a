"""What a job is owed at each stage. Each step may be cut off anywhere, and is then done again."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Protocol

from paddleflow.problems import Unavailable
from pf_job.driving.book import Book
from pf_job.driving.ports import Admission, AttemptKey, GivenBack, Submitted
from pf_job.driving.wishes import left_of, wish_of
from pf_job.jobs.domain import ENDED, Job, Task, TaskState
from pf_job.jobs.life import Ending, Event, Grant
from pf_job.jobs.states import Kind, Stage
from pf_job.jobs.telling import News
from pf_job.runtimes.port import Phase, ReplicaKey, Runtime, Sighting
from pf_job.specs.defaults import GRACE

logger = logging.getLogger(__name__)

MICROSECONDS = 1_000_000
"""Of a second."""
UNBEGUN = "was stopped before it began"
See = Callable[[Sequence[Sighting]], Awaitable[object]]
"""Notes how replicas were seen."""


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


async def halt(book: Book, runtimes: Runtimes, see: See) -> int:
    """Ends replicas of jobs that are to end, and of those that go on with others; tells of how many jobs. Those whose
    runtime does not answer are left for later.
    """
    owed = await book.owed(Stage.HALT, Stage.PART)
    replicas = _to_end(owed, await book.tasks([job.id for job in owed]))
    alike: defaultdict[tuple[str, int], list[Job]] = defaultdict(list)
    for job in owed:
        alike[cluster_of(job), _patience(job)].append(job)
    news: list[News] = []
    for (cluster, patience), jobs in alike.items():
        try:
            unbegun = await runtimes.of(cluster).stop([key for job in jobs for key in replicas[job.id]], patience)
        except Unavailable as problem:
            logger.warning("a runtime does not answer", extra={"cluster": cluster, "why": problem.message})
        else:
            # First, so that a job of which this was not noted is halted again.
            await see([Sighting(key=key, phase=Phase.LOST, message=UNBEGUN) for key in unbegun])
            news += [News(job.id, _halted(job, gone=not replicas[job.id])) for job in jobs]
    await book.tell(news)
    return len(news)


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
