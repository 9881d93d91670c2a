"""Load on admission that never gives up: jobs of all kinds, and whoever runs, stops and shrinks them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from google.protobuf.message import Message

from paddleflow.problems import (
    Aborted,
    DeadlineExceeded,
    GrantMismatch,
    Unavailable,
    WorkloadNotFound,
    WorkloadStateConflict,
)
from paddleflow.queue.v1 import admission_pb2, queue_pb2, workload_pb2
from support.callers import Caller
from support.exactly_once import OVER, Key
from support.waiting import until

QUEUES = ("red", "green", "blue")
SHARE = 5
"""Replicas that each queue is guaranteed, of 16."""
MOST_OPEN = 40
"""Jobs at a time."""
MOVED = 10
"""Events between two kills, so that each meets another state."""
TRANSIENT = (Unavailable, Aborted, DeadlineExceeded)
SETTLING = 60.0
"""Seconds in which all jobs end once no more come."""


class Service(Protocol):
    """What answers in the end, whoever dies meanwhile."""

    async def call(self, request: Message) -> Any:
        """The reply of whichever instance answers."""

    def caller(self) -> Caller | None:
        """One of the instances; None while there is none."""


@dataclass
class Load:
    """Submits jobs, runs what is admitted, and gives back what it is told to."""

    service: Service
    chance: Random
    submitted: set[str] = field(default_factory=set)
    cancelled: set[Key] = field(default_factory=set)
    """Cancelled while they waited."""
    over: set[str] = field(default_factory=set)
    seen: set[tuple[Key, workload_pb2.WorkloadState.ValueType]] = field(default_factory=set)
    """How callers were told that attempts stood."""
    revised: dict[str, int] = field(default_factory=dict)
    """By job, the last revision of which a caller was told that it is known."""
    told: list[bytes] = field(default_factory=list)
    """What the watch has brought, in order."""
    _work: set[asyncio.Task[None]] = field(default_factory=set)
    _failures: list[BaseException] = field(default_factory=list)

    async def submit(self, name: str, stop: asyncio.Event) -> None:
        """Submits jobs until it is told to stop."""
        number = 0
        while not stop.is_set():
            await until(lambda: len(self.submitted) - len(self.over) < MOST_OPEN or stop.is_set(), SETTLING, 0.01)
            batch = [self._job(f"{name}-{number + offset}") for offset in range(self.chance.randint(1, 6))]
            number += len(batch)
            reply = await self.service.call(admission_pb2.SubmitWorkloadsRequest(workloads=batch))
            assert not any(result.HasField("refusal") for result in reply.results), reply
            self.submitted.update(each.key.job_id for each in batch)
            if self.chance.random() < 0.3:
                await self._cancel(self.chance.choice(batch).key)
            await asyncio.sleep(self.chance.uniform(0, 0.05))

    async def stir(self, stop: asyncio.Event) -> None:
        """Changes a queue again and again, so that leaders look at it anew."""
        while not stop.is_set():
            queue = queue_pb2.Queue(name=self.chance.choice(QUEUES))
            queue.min.amounts.update(cpu=self.chance.randint(SHARE - 2, SHARE) * 1000)
            request = queue_pb2.UpdateQueueRequest(queue=queue)
            request.update_mask.paths.append("min")
            await self.service.call(request)
            await asyncio.sleep(self.chance.uniform(0, 0.3))

    async def look(self, stop: asyncio.Event) -> None:
        """Asks how jobs stand; one that was acknowledged is always known."""
        while not stop.is_set():
            if jobs := [*self.submitted - self.over]:
                key = workload_pb2.WorkloadKey(job_id=self.chance.choice(jobs))
                workload = (await self.service.call(admission_pb2.GetWorkloadRequest(key=key))).workload
                self.seen.add(((workload.key.job_id, workload.key.attempt), workload.state))
                if self.chance.random() < 0.5:
                    await self._revise(workload)
            await asyncio.sleep(self.chance.uniform(0, 0.1))

    async def _revise(self, workload: workload_pb2.Workload) -> None:
        """Changes the priority of one that waits, or did just now."""
        job, revision = workload.key.job_id, workload.revision + 1
        request = admission_pb2.UpdateWorkloadRequest(
            key=workload.key, priority=self.chance.randint(0, 2), revision=revision
        )
        with suppress(WorkloadNotFound, WorkloadStateConflict):
            await self.service.call(request)
            self.revised[job] = max(revision, self.revised.get(job, 0))

    def _job(self, job: str) -> workload_pb2.Workload:
        """Sometimes elastic, sometimes with two roles."""
        role = workload_pb2.RoleRequest(role="w", min_replicas=self.chance.randint(1, 4))
        if self.chance.random() < 0.3:
            role.max_replicas = role.min_replicas + 3
        roles = [role]
        if self.chance.random() < 0.2:
            roles.append(workload_pb2.RoleRequest(role="ps", min_replicas=self.chance.randint(1, 2)))
        for each in roles:
            each.per_replica.amounts.update(cpu=1000)
        key = workload_pb2.WorkloadKey(job_id=job, attempt=1)
        return workload_pb2.Workload(
            key=key, queue=self.chance.choice(QUEUES), user="root", priority=self.chance.randint(0, 2), roles=roles
        )

    async def _cancel(self, key: workload_pb2.WorkloadKey) -> None:
        """Cancels what waits; what has been admitted meanwhile runs on."""
        if await self._release(key, "", workload_pb2.RELEASE_OUTCOME_CANCELLED):
            self.cancelled.add((key.job_id, key.attempt))

    async def follow(self) -> None:
        """Watches through all breaks, for ever."""
        token = ""
        while True:
            with suppress(*TRANSIENT):
                if (caller := self.service.caller()) is not None:
                    async for page in caller.watch(admission_pb2.WatchWorkloadsRequest(resume_token=token)):
                        for change in page.events:
                            self.told.append(change.event.SerializeToString(deterministic=True))
                            self._react(change.event)
                        token = page.resume_token or token
            await asyncio.sleep(0.02)

    def _react(self, event: workload_pb2.WorkloadEvent) -> None:
        match event.WhichOneof("fact"):
            case "admitted" if event.admitted.grant_version == 1:
                self._do(self._run(event.admitted))
            case "admitted" if self.chance.random() < 0.3:
                self._do(self._shrink(event.admitted.key, event.admitted.grant_id))
            case "evicting":
                self._do(self._leave(event.evicting))
            case "released" if event.released.outcome in OVER:
                self.over.add(event.released.key.job_id)
            case "requeued" if event.requeued.held:
                self._do(self._resume(event.requeued.key))
            case _:
                pass

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._work.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None:
            self._failures.append(failure)

    async def _run(self, admitted: workload_pb2.Admitted) -> None:
        if self.chance.random() < 0.2:
            report = admission_pb2.RunningReport(key=admitted.key, grant_id=admitted.grant_id)
            await self.service.call(admission_pb2.ReportRunningRequest(reports=[report]))
        await asyncio.sleep(self.chance.uniform(0, 0.1))
        (outcome,) = self.chance.choices((*OVER, workload_pb2.RELEASE_OUTCOME_NOT_STARTED), weights=(80, 10, 10))
        await self._release(admitted.key, admitted.grant_id, outcome)

    async def _leave(self, evicting: workload_pb2.Evicting) -> None:
        if any(grant.base for grant in evicting.replicas):
            await self._release(evicting.key, evicting.grant_id, workload_pb2.RELEASE_OUTCOME_EVICTED)
        else:
            await self._shrink(evicting.key, evicting.grant_id)

    async def _shrink(self, key: workload_pb2.WorkloadKey, grant: str) -> None:
        """Gives back all surplus, unless the workload has ended meanwhile."""
        nothing = workload_pb2.RoleGrant(role="w", surplus=0)
        with suppress(WorkloadNotFound, GrantMismatch):
            await self.service.call(admission_pb2.ResizeWorkloadRequest(key=key, grant_id=grant, roles=[nothing]))

    async def _resume(self, key: workload_pb2.WorkloadKey) -> None:
        await self.service.call(admission_pb2.ResumeWorkloadRequest(key=key))

    async def _release(
        self, key: workload_pb2.WorkloadKey, grant: str, outcome: workload_pb2.ReleaseOutcome.ValueType
    ) -> bool:
        """False if it is refused: something else has happened meanwhile."""
        release = admission_pb2.Release(key=key, grant_id=grant, outcome=outcome)
        reply = await self.service.call(admission_pb2.ReleaseWorkloadsRequest(releases=[release]))
        return not reply.results[0].HasField("refusal")

    async def goes_on(self) -> None:
        """Waits until some more has happened."""
        known = len(self.told)
        await until(lambda: len(self.told) >= known + MOVED, SETTLING)

    async def settled(self) -> None:
        """Waits until every job is over, and all that was done about them is answered."""
        await until(lambda: self.submitted <= self.over and not self._work, SETTLING, 0.02)

    def failures(self) -> Sequence[BaseException]:
        return self._failures
