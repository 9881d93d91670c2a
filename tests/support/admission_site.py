"""Workloads in the corner that a test has of a running queue service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from paddleflow.queue.v1 import admission_pb2, workload_pb2
from support.queue_site import QueueSite, node

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
    _jobs: int = field(default=0, init=False)

    async def prepare(self, *queues: str, **fields: Any) -> None:
        """Reports machines, and makes queues at the top."""
        nodes = [node(f"n{n}", cpu=self.cores * 1000, memory=64 * GI) for n in range(self.machines)]
        await self.site.report(1, *nodes)
        for word in queues:
            await self.site.create(word, **fields)

    def key(self, job: str, attempt: int = 1) -> workload_pb2.WorkloadKey:
        return workload_pb2.WorkloadKey(job_id=self.site.name(job), attempt=attempt)

    def workload(self, job: str, word: str, cores: int = 1, replicas: int = 1, **fields: Any) -> workload_pb2.Workload:
        """A job of one role; `most` and `step` make it elastic."""
        role = workload_pb2.RoleRequest(
            role="worker",
            min_replicas=replicas,
            max_replicas=fields.pop("most", 0),
            surplus_step=fields.pop("step", 0),
        )
        role.per_replica.amounts.update(cpu=cores * 1000, memory=GI)
        user = fields.pop("user", "root")
        return workload_pb2.Workload(key=self.key(job), queue=self.site.name(word), user=user, roles=[role], **fields)

    async def submit(self, *workloads: workload_pb2.Workload) -> Sequence[admission_pb2.WorkloadResult]:
        reply = await self.site.root(admission_pb2.SubmitWorkloadsRequest(workloads=workloads))
        results: Sequence[admission_pb2.WorkloadResult] = reply.results
        return results

    async def get(self, job: str, attempt: int = 0) -> workload_pb2.Workload:
        reply = await self.site.root(admission_pb2.GetWorkloadRequest(key=self.key(job, attempt)))
        found: workload_pb2.Workload = reply.workload
        return found

    async def release(
        self, job: str, outcome: workload_pb2.ReleaseOutcome.ValueType = FINISHED, attempt: int = 0
    ) -> admission_pb2.WorkloadResult:
        """Ends the attempt that is not over, or this one."""
        found = await self.get(job, attempt)
        release = admission_pb2.Release(key=found.key, grant_id=found.admitted.grant_id, outcome=outcome)
        reply = await self.site.root(admission_pb2.ReleaseWorkloadsRequest(releases=[release]))
        result: admission_pb2.WorkloadResult = reply.results[0]
        return result

    async def explain(self, job: str) -> admission_pb2.ExplainWorkloadResponse:
        story: admission_pb2.ExplainWorkloadResponse = await self.site.root(
            admission_pb2.ExplainWorkloadRequest(key=self.key(job, 0))
        )
        return story
