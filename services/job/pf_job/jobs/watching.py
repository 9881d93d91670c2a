"""What a watch of jobs tells its caller: of all, or of its own and those of the queues that are granted to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from paddleflow.job.v1 import job_pb2
from pf_job.jobs.convert import JOB_EVENT, existing, owner_of, require_watchable
from pf_job.jobs.domain import JobFilter, Owner
from pf_job.jobs.sight import Sight
from pf_job.jobs.states import FINAL, State
from pf_job.jobs.store import JobStore
from pf_kit.events import Event
from pf_kit.principal import Principal
from pf_kit.unit import View

PAGE = 500
"""Jobs that are read at once: whoever begins a watch holds up nobody for longer than that takes."""
UNFINISHED = frozenset(State) - FINAL


class Teller:
    """Says what things mean to one watcher.

    A queue that is granted during the watch shows by what happens in it from then on.
    """

    def __init__(self, *, store: JobStore, sight: Sight, caller: Principal, queue: str, id_: str) -> None:
        self._store = store
        self._sight = sight
        self._caller = caller
        self._queue = queue
        self._id = id_

    async def existing(self, view: View) -> Sequence[job_pb2.JobEvent]:
        """The jobs as they are: those that are not over, or the one that is asked for."""
        if self._id:
            known = await self._store.jobs(view, [self._id])
            return [existing(job) for job in known if await self._sees(job.whose, job.queue)]
        chosen = JobFilter(queue=self._queue, states=UNFINISHED)
        if not self._caller.root:
            viewer, granted = await self._sight.identity(self._caller), await self._sight.granted(self._caller)
            chosen = replace(chosen, viewer=viewer, queues=granted)
        return [event async for event in self._unfinished(view, chosen)][::-1]

    async def _unfinished(self, view: View, chosen: JobFilter) -> AsyncIterator[job_pb2.JobEvent]:
        """Jobs, newest first."""
        before = 0
        while found := await self._store.page(view, chosen, before, PAGE):
            for job in found:
                yield existing(job)
            before = found[-1].number

    async def changes(self, event: Event) -> Sequence[job_pb2.JobEvent]:
        """What an event means; often nothing."""
        if event.fact.type != JOB_EVENT or (self._id and event.fact.subject != f"job/{self._id}"):
            return []
        told = job_pb2.JobEvent.FromString(event.fact.payload)
        if self._queue not in ("", told.job.queue) or not await self._sees(owner_of(told.job), told.job.queue):
            return []
        return [told]

    async def _sees(self, owner: Owner, queue: str) -> bool:
        return await self._sight.sees(self._caller, owner, queue)


class Tellers:
    """Chooses who tells a caller of jobs."""

    def __init__(self, *, store: JobStore, sight: Sight) -> None:
        self._store = store
        self._sight = sight

    def teller(self, caller: Principal, request: job_pb2.WatchJobsRequest) -> Teller:
        """The teller for this caller."""
        require_watchable(request)
        return Teller(store=self._store, sight=self._sight, caller=caller, queue=request.queue, id_=request.id)
