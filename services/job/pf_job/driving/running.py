"""Tells queues which jobs run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pf_job.driving.ports import Admission, AttemptKey
from pf_job.jobs.domain import Job
from pf_job.jobs.states import State

GATHER = 0.1
"""Seconds until a queue hears of it, with others. Of those that are over by then nobody needs to hear."""


class RunningReports:
    """Says of each attempt once that it runs, and beside all else: a queue that is away holds up nobody's end."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._due: dict[AttemptKey, str] = {}
        """What those hold of which the queue has not heard."""
        self._come = asyncio.Event()

    def note(self, jobs: Sequence[Job]) -> None:
        """Has those reported that run, and not those that do not run any more."""
        for job in jobs:
            if job.life.state is not State.RUNNING:
                self._due.pop(AttemptKey(job.id, job.life.attempt), None)
        running = [job for job in jobs if job.life.state is State.RUNNING]
        found = {AttemptKey(job.id, job.life.attempt): job.life.grant.id for job in running if job.life.grant}
        if found:
            self._due.update(found)
            self._come.set()

    async def step(self) -> int:
        """Tells of how many."""
        self._come.clear()
        told = dict(self._due)
        if told:
            await self._admission.report_running(told)
        self._due = {key: grant for key, grant in self._due.items() if told.get(key) != grant}
        return len(told)

    async def more(self) -> None:
        """Waits until there is something to report."""
        await self._come.wait()
        await asyncio.sleep(GATHER)
