"""Workloads in the corner that a test has of a running queue service."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from paddleflow.queue.v1 import admission_pb2, workload_pb2
from support.callers import Caller
from support.queue_site import QueueSite, node
from support.waiting import eventually

GI = 2**30
FINISHED = workload_pb2.RELEASE_OUTCOME_FINISHED
EVICTED = workload_pb2.RELEASE_OUTCOME_EVICTED
CANCELLED = workload_pb2.RELEASE_OUTCOME_CANCELLED
NOT_STARTED = workload_pb2.RELEASE_OUTCOME_NOT_STARTED
ADMITTED = workload_pb2.WORKLOAD_STATE_ADMITTED
PENDING = workload_pb2.WORKLOAD_STATE_PENDING
EVICTING = workload_pb2.WORKLOAD_STATE_EVICTING
HELD = workload_pb2.WORKLOAD_STATE_HELD
RELEASED = workload_pb2.WORKLOAD_STATE_RELEASED


@dataclass
class AdmissionSite:
    """Machines, queues and workloads of one test."""

    site: QueueSite
    machines: int = 4
    cores: int = 8
    """Of each machine."""
    _revision: int = field(default=0, init=False)

    async def prepare(self, *queues: str, **fields: Any) -> None:
        """Reports machines, and makes queues at the top."""
        await self.report(self.machines)
        for word in queues:
            await self.site.create(word, **fields)

    async def report(self, machines: int, more: Mapping[str, int] | None = None) -> None:
        """From now on the cluster has so many machines; `more` is what each has beside cores and memory."""
        self._revision += 1
        nodes = [node(f"n{n}", cpu=self.cores * 1000, memory=64 * GI) for n in range(machines)]
        for each in nodes:
            each.allocatable.amounts.update(more or {})
        await self.site.report(self._revision, *nodes)

    def key(self, job: str, attempt: int = 1) -> workload_pb2.WorkloadKey:
        return workload_pb2.WorkloadKey(job_id=self.site.name(job), attempt=attempt)

    def workload(self, job: str, word: str, cores: int = 1, replicas: int = 1, **fields: Any) -> workload_pb2.Workload:
        """A job of one role; `most` and `step` make it elastic, `more` is what a replica takes beside cores."""
        role = workload_pb2.RoleRequest(
            role="worker",
            min_replicas=replicas,
            max_replicas=fields.pop("most", 0),
            surplus_step=fields.pop("step", 0),
        )
        role.per_replica.amounts.update({"cpu": cores * 1000, "memory": GI} | fields.pop("more", {}))
        key, user = self.key(job, fields.pop("attempt", 1)), fields.pop("user", "root")
        return workload_pb2.Workload(key=key, queue=self.site.name(word), user=user, roles=[role], **fields)

    async def submit(self, *workloads: workload_pb2.Workload) -> Sequence[admission_pb2.WorkloadResult]:
        reply = await self.site.root(admission_pb2.SubmitWorkloadsRequest(workloads=workloads))
        results: Sequence[admission_pb2.WorkloadResult] = reply.results
        return results

    async def start(self, job: str, word: str, cores: int = 1, replicas: int = 1, **fields: Any) -> None:
        """Submits a job that is admitted."""
        (result,) = await self.submit(self.workload(job, word, cores, replicas, **fields))
        assert not result.refusal.reason, result.refusal
        await self.until(job, ADMITTED)

    async def wait(
        self, job: str, word: str, cores: int = 1, replicas: int = 1, **fields: Any
    ) -> workload_pb2.Workload:
        """Submits a job that has to wait."""
        (result,) = await self.submit(self.workload(job, word, cores, replicas, **fields))
        assert not result.refusal.reason, result.refusal
        return await self.until(job, PENDING)

    async def get(self, job: str, attempt: int = 0) -> workload_pb2.Workload:
        reply = await self.site.root(admission_pb2.GetWorkloadRequest(key=self.key(job, attempt)))
        found: workload_pb2.Workload = reply.workload
        return found

    async def until(
        self, job: str, state: workload_pb2.WorkloadState.ValueType, attempt: int = 0
    ) -> workload_pb2.Workload:
        """The workload, once it has come to a state."""

        async def there() -> workload_pb2.Workload | None:
            found = await self.get(job, attempt)
            return found if found.state == state else None

        return await eventually(there)

    async def until_has(self, job: str, surplus: int) -> workload_pb2.Workload:
        """The workload, once it has so many replicas above its minimum."""

        async def has() -> workload_pb2.Workload | None:
            found = await self.get(job)
            return found if [role.surplus for role in found.admitted.roles] == [surplus] else None

        return await eventually(has)

    async def until_waits(
        self, job: str, reason: workload_pb2.PendingReason.ValueType
    ) -> admission_pb2.ExplainWorkloadResponse:
        """The story of a workload, once it waits for a reason."""

        async def told() -> admission_pb2.ExplainWorkloadResponse | None:
            story = await self.explain(job)
            return story if story.waiting.reason == reason else None

        return await eventually(told)

    async def release(
        self, job: str, outcome: workload_pb2.ReleaseOutcome.ValueType = FINISHED, attempt: int = 0
    ) -> admission_pb2.WorkloadResult:
        """Ends the attempt that is not over, or this one."""
        found = await self.get(job, attempt)
        return await self.end(found.key, found.admitted.grant_id, outcome)

    async def end(
        self,
        key: workload_pb2.WorkloadKey,
        grant: str,
        outcome: workload_pb2.ReleaseOutcome.ValueType = FINISHED,
    ) -> admission_pb2.WorkloadResult:
        """Ends an attempt that is said to hold this."""
        release = admission_pb2.Release(key=key, grant_id=grant, outcome=outcome)
        reply = await self.site.root(admission_pb2.ReleaseWorkloadsRequest(releases=[release]))
        result: admission_pb2.WorkloadResult = reply.results[0]
        return result

    async def resize(self, job: str, surplus: int, grant: str = "") -> workload_pb2.Workload:
        """Says that so many replicas above the minimum are left."""
        key = self.key(job)
        left = workload_pb2.RoleGrant(role="worker", surplus=surplus)
        request = admission_pb2.ResizeWorkloadRequest(key=key, grant_id=grant or f"{key.job_id}/1", roles=[left])
        found: workload_pb2.Workload = (await self.site.root(request)).workload
        return found

    async def report_running(self, job: str) -> None:
        found = await self.get(job)
        report = admission_pb2.RunningReport(key=found.key, grant_id=found.admitted.grant_id)
        await self.site.root(admission_pb2.ReportRunningRequest(reports=[report]))

    async def explain(self, job: str) -> admission_pb2.ExplainWorkloadResponse:
        story: admission_pb2.ExplainWorkloadResponse = await self.site.root(
            admission_pb2.ExplainWorkloadRequest(key=self.key(job, 0))
        )
        return story


class Watcher:
    """Reads a watch of workloads, and keeps the last token."""

    def __init__(self, stream: AsyncGenerator[Any, None]) -> None:
        self._stream = stream
        self._ahead: list[admission_pb2.WorkloadChange] = []
        self.token = ""

    async def existing(self) -> Sequence[admission_pb2.WorkloadChange]:
        """All that there is as the watch begins."""
        told: list[admission_pb2.WorkloadChange] = []
        async for message in self._stream:
            told += message.events
            if message.bookmark:
                self.token = message.resume_token
                return told
        raise AssertionError("the watch ended")

    async def message(self) -> admission_pb2.WatchWorkloadsResponse:
        message: admission_pb2.WatchWorkloadsResponse = await anext(self._stream)
        self.token = message.resume_token
        return message

    async def next(self) -> admission_pb2.WorkloadChange:
        """The next change."""
        while not self._ahead:
            self._ahead += (await self.message()).events
        return self._ahead.pop(0)

    async def take(self, count: int) -> Sequence[admission_pb2.WorkloadChange]:
        return [await self.next() for _ in range(count)]

    async def until(self, fact: str) -> workload_pb2.WorkloadEvent:
        """The next event of this kind; others are passed over."""
        while True:
            change = await self.next()
            if change.event.WhichOneof("fact") == fact:
                return change.event


@asynccontextmanager
async def watching(caller: Caller, *queues: str, token: str = "") -> AsyncIterator[Watcher]:
    stream = caller.watch(admission_pb2.WatchWorkloadsRequest(queues=queues, resume_token=token))
    try:
        yield Watcher(stream)
    finally:
        await stream.aclose()
