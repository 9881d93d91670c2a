"""What the queue service decides: heard as events, and asked for where events are missing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

from paddleflow.queue.v1 import workload_pb2
from pf_job.driving.book import Book
from pf_job.driving.convert import WORKLOAD_EVENT, news_of, shrunk
from pf_job.driving.ports import Admission, AttemptKey, Standing
from pf_job.driving.told import Told
from pf_job.jobs.domain import Job
from pf_job.jobs.life import Event as LifeEvent
from pf_job.jobs.states import Kind, Stage
from pf_job.jobs.store import JobStore, job_lock
from pf_job.jobs.telling import News, tell
from pf_kit.events import Event
from pf_kit.unit import Change
from pf_kit.users import departed

IN_QUEUE = (Stage.QUEUED, Stage.REVISE)
KNOWN_TO_QUEUE = (*IN_QUEUE, Stage.LAUNCH, Stage.WATCH, Stage.PART, Stage.RESIZE, Stage.HALT, Stage.ENDING)
"""Stages of jobs that wait in a queue or hold something."""


class QueueEvents:
    """Takes in the events of the queue service, each once and in order."""

    def __init__(
        self,
        *,
        store: JobStore,
        fence: Callable[[Change], Awaitable[None]],
        told: Told,
        amiss: asyncio.Event,
        left: asyncio.Event,
    ) -> None:
        """`told` is what jobs need not hear again. `amiss` is set when events are missing for good, so that all jobs
        are to be compared with their queues; `left` when a user was deleted, or may have been.
        """
        self._store = store
        self._fence = fence
        self._told = told
        self._amiss = amiss
        self._left = left

    def heeds(self, event: Event) -> bool:
        return departed(event) is not None or not all(map(self._told.knows, _news([event])))

    def locks(self, events: Sequence[Event]) -> Sequence[str]:
        return [job_lock(each.job) for each in _news(events)]

    async def apply(self, change: Change, events: Sequence[Event]) -> None:
        await self._fence(change)
        if any(departed(event) is not None for event in events):
            self._left.set()
        if news := list(_news(events)):
            await tell(self._store, change, news)

    async def gather(self) -> None:
        """Nothing: the state is asked for when the place from which events go on is noted."""

    async def resync(self, change: Change, state: None) -> None:  # noqa: ARG002 - see `gather`
        await self._fence(change)
        self._amiss.set()
        self._left.set()


async def compare(book: Book, admission: Admission) -> Sequence[Job]:
    """Lets happen to jobs what they have not heard of; returns those that changed."""
    changed: list[Job] = []
    # Asked for first: whatever a queue decides after that is heard as an event.
    standings = {standing.key: standing for standing in await admission.standings()}
    async for jobs in book.at(KNOWN_TO_QUEUE):
        changed += await book.tell([news for job in jobs for news in _missed(job, standings)])
    return changed


def _missed(job: Job, standings: Mapping[AttemptKey, Standing]) -> Iterator[News]:
    attempt = job.life.attempt
    standing = standings.get(AttemptKey(job.id, attempt))
    if standing is None:
        if AttemptKey(job.id, attempt + 1) in standings or job.life.stage not in IN_QUEUE:
            return
        yield News(job.id, LifeEvent(kind=Kind.UNKNOWN, attempt=attempt))
        return
    if standing.grant is None and standing.revision < job.life.revision:
        yield News(job.id, LifeEvent(kind=Kind.REVISED, attempt=attempt, revision=standing.revision))
    if standing.grant is not None:
        yield News(job.id, LifeEvent(kind=Kind.ADMITTED, attempt=attempt, grant=standing.grant))
        if standing.left is not None:
            yield shrunk(standing.key, standing.left, standing.grant.version + 1)
    if standing.evicting:
        yield News(job.id, LifeEvent(kind=Kind.EVICTED, attempt=attempt, message="pushed out"))


def _news(events: Sequence[Event]) -> Iterator[News]:
    for event in events:
        if event.fact.type == WORKLOAD_EVENT:
            yield from news_of(workload_pb2.WorkloadEvent.FromString(event.fact.payload))
