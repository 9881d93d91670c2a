"""The part of the job service, which is yet to come: it starts what is admitted, and stops what is told to leave."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from paddleflow.aio import AsyncPaddleFlow
from paddleflow.models import (
    Admitted,
    Bookmark,
    Change,
    Evicting,
    Release,
    ReleaseOutcome,
    RunningReport,
    WorkloadFact,
    WorkloadKey,
    WorkloadResult,
)
from paddleflow.problems import GrantMismatch, Problem, WorkloadNotFound
from teams.ledger import Ledger, is_all
from teams.setting import Job

GRACE = 0.3
"""Seconds that a job takes to leave when it is told to."""
_TICK = 0.04
"""Seconds between two batches of reports and releases."""
_BATCH = 250


@dataclass(frozen=True, slots=True)
class Ending:
    """When a job will stop, and what is said then."""

    time: float
    release: Release


@dataclass(frozen=True, slots=True)
class GivingBack:
    """When a job will have stopped some of its surplus."""

    time: float
    evicting: Evicting


class JobService:
    """Submits jobs, and does for each what the watch tells it to."""

    def __init__(self, client: AsyncPaddleFlow) -> None:
        self._client = client
        self._seconds: dict[str, float] = {}
        self._endings: dict[str, Ending] = {}
        self._giving_back: list[GivingBack] = []
        self._started: list[RunningReport] = []
        self.ledger = Ledger()
        self.submitted: Counter[str] = Counter()
        """Jobs that were taken, by team."""
        self.ready = asyncio.Event()
        """Set once the watch tells of all that happens."""

    async def submit(self, jobs: Sequence[Job]) -> None:
        self._seconds |= {job.workload.key.job_id: job.seconds for job in jobs}
        for start in range(0, len(jobs), _BATCH):
            batch = [job.workload for job in jobs[start : start + _BATCH]]
            _done(await self._client.workloads.submit(batch))
            self.submitted.update(workload.queue for workload in batch)

    async def watch(self, queues: Iterable[str]) -> None:
        """Follows what happens to the jobs, for ever."""
        async for item in self._client.workloads.watch(queues=queues):
            match item:
                case Change(value=fact):
                    self._told(fact, time.monotonic())
                case Bookmark(caught_up=True):
                    self.ready.set()

    async def work(self) -> None:
        """Reports, stops and releases what is due, for ever."""
        while True:
            await asyncio.sleep(_TICK)
            await self._report()
            await self._end(time.monotonic())
            await self._give_back(time.monotonic())

    def _told(self, fact: WorkloadFact, now: float) -> None:
        match fact:
            case Admitted(key, grant_id) if key.job_id not in self.ledger.held:
                self._started.append(RunningReport(key, grant_id))
                self._stop(key, grant_id, ReleaseOutcome.FINISHED, now + self._seconds[key.job_id])
            case Evicting(key, grant_id) if is_all(fact):
                self._stop(key, grant_id, ReleaseOutcome.EVICTED, now + GRACE)
            case Evicting():
                self._giving_back.append(GivingBack(now + GRACE, fact))
        self.ledger.note(fact, now)

    def _stop(self, key: WorkloadKey, grant_id: str, outcome: ReleaseOutcome, then: float) -> None:
        """Whoever would have ended by itself before its grace is over does so."""
        planned = self._endings.get(key.job_id)
        if planned is None or planned.time > then:
            self._endings[key.job_id] = Ending(then, Release(key, outcome, grant_id))

    async def _report(self) -> None:
        started, self._started = self._started, []
        if started:
            await self._client.workloads.report_running(started)

    async def _end(self, now: float) -> None:
        due = [job for job, ending in self._endings.items() if ending.time <= now]
        releases = [self._endings.pop(job).release for job in due]
        for start in range(0, len(releases), _BATCH):
            _done(await self._client.workloads.release(releases[start : start + _BATCH]))

    async def _give_back(self, now: float) -> None:
        due = [each for each in self._giving_back if each.time <= now]
        self._giving_back = [each for each in self._giving_back if each.time > now]
        for each in due:
            await self._shrink(each.evicting)

    async def _shrink(self, evicting: Evicting) -> None:
        try:
            workload = await self._client.workloads.get(evicting.key)
            if workload.admitted is None:
                return
            taken = {role.role: role.surplus for role in evicting.replicas}
            left = {role.role: role.surplus - taken.get(role.role, 0) for role in workload.admitted.roles}
            await self._client.workloads.resize(evicting.key, evicting.grant_id, left)
        except (GrantMismatch, WorkloadNotFound):
            # It ended meanwhile, and with it its surplus.
            return


def _done(results: Iterable[WorkloadResult]) -> None:
    """Raises what one was refused for: here nobody asks for what may be refused."""
    for result in results:
        if isinstance(result.outcome, Problem):
            raise result.outcome
