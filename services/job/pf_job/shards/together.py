"""Serves many callers with one commit.

All shards of a dataset are counted in one row, so that the trainers of a job wait for one another. Whoever comes while
a change of the job is under way is served, with all others who did, by the next one: the more callers, the fewer
commits for each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from paddleflow.problems import Problem
from pf_job.jobs.store import job_lock
from pf_job.shards.service import Answer, Call, Shards
from pf_kit.unit import Database

MOST = 500
"""Calls that are served by one change."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """Calls that wait for the same change, and that others may still join."""

    calls: list[Call]
    served: asyncio.Task[Sequence[Answer | Problem]]


class Together:
    """Serves replicas."""

    def __init__(self, *, database: Database, shards: Shards) -> None:
        self._database = database
        self._shards = shards
        self._open: dict[str, _Batch] = {}
        """By job."""

    async def answer(self, call: Call) -> Answer:
        """The answer to a replica. Raises its problem."""
        batch = self._batch(call.bearer.replica.job)
        place = len(batch.calls)
        batch.calls.append(call)
        # Who goes away takes nothing from the others.
        answer = (await asyncio.shield(batch.served))[place]
        if isinstance(answer, Problem):
            raise answer
        return answer

    def _batch(self, job: str) -> _Batch:
        batch = self._open.get(job)
        if batch is None or len(batch.calls) >= MOST:
            calls: list[Call] = []
            batch = self._open[job] = _Batch(calls, asyncio.create_task(self._serve(job, calls)))
            batch.served.add_done_callback(_look)
        return batch

    async def _serve(self, job: str, calls: list[Call]) -> Sequence[Answer | Problem]:
        try:
            async with self._database.change(job_lock(job)) as change:
                self._close(job, calls)
                return await self._shards.serve(change, job, calls)
        finally:
            self._close(job, calls)

    def _close(self, job: str, calls: list[Call]) -> None:
        """Lets nobody join these any more."""
        batch = self._open.get(job)
        if batch is not None and batch.calls is calls:
            del self._open[job]


def _look(served: asyncio.Task[Sequence[Answer | Problem]]) -> None:
    """Looks at how it ended, since all who waited may have left: asyncio logs failures that nobody saw as faults."""
    if not served.cancelled():
        served.exception()
