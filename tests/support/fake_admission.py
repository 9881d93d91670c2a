"""What the small server of `fake_paddleflow` answers about workloads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paddleflow.problems import WorkloadNotFound
from paddleflow.queue.v1 import admission_pb2 as pb
from paddleflow.queue.v1 import workload_pb2
from support.fake_services import BEGAN, World, page


@dataclass
class Admission:
    world: World

    def SubmitWorkloads(self, request: Any) -> Any:  # noqa: N802
        return pb.SubmitWorkloadsResponse(results=map(self._submit, request.workloads))

    def ReleaseWorkloads(self, request: Any) -> Any:  # noqa: N802
        return pb.ReleaseWorkloadsResponse(results=map(self._release, request.releases))

    def ResizeWorkload(self, request: Any) -> Any:  # noqa: N802
        workload = self._find(request.key)
        workload.admitted.roles[0].surplus = request.roles[0].surplus
        return pb.ResizeWorkloadResponse(workload=workload)

    def UpdateWorkload(self, request: Any) -> Any:  # noqa: N802
        workload = self._find(request.key)
        workload.priority, workload.revision = request.priority, request.revision
        return pb.UpdateWorkloadResponse(workload=workload)

    def ReportRunning(self, _: Any) -> Any:  # noqa: N802
        return pb.ReportRunningResponse()

    def ResumeWorkload(self, request: Any) -> Any:  # noqa: N802
        workload = self._find(request.key)
        workload.state = workload_pb2.WORKLOAD_STATE_PENDING
        return pb.ResumeWorkloadResponse(workload=workload)

    def GetWorkload(self, request: Any) -> Any:  # noqa: N802
        return pb.GetWorkloadResponse(workload=self._find(request.key))

    def ListWorkloads(self, request: Any) -> Any:  # noqa: N802
        chosen = [
            each
            for each in self.world.workloads.values()
            if each.queue == request.queue and (not request.states or each.state in request.states)
        ]
        workloads, token = page(chosen, request, lambda each: each.key.job_id)
        return pb.ListWorkloadsResponse(workloads=workloads, next_page_token=token)

    def GetPosition(self, request: Any) -> Any:  # noqa: N802
        return self._explained(request.key).waiting.position

    def ExplainWorkload(self, request: Any) -> Any:  # noqa: N802
        return self._explained(request.key)

    def Simulate(self, _: Any) -> Any:  # noqa: N802
        return self.world.simulated

    def ListLoads(self, request: Any) -> Any:  # noqa: N802
        loads, token = page(self.world.loads, request, lambda load: load.queue)
        return pb.ListLoadsResponse(loads=loads, next_page_token=token)

    def ListDecisions(self, request: Any) -> Any:  # noqa: N802
        decisions, token = page(self.world.decisions, request, lambda each: f"{10**6 - each.id:06}")
        return pb.ListDecisionsResponse(decisions=decisions, next_page_token=token)

    def WatchWorkloads(self, _: Any) -> Any:  # noqa: N802
        """Played by the world's streams."""

    def _submit(self, workload: workload_pb2.Workload) -> pb.WorkloadResult:
        if workload.queue not in self.world.queues:
            refusal = pb.Refusal(
                code="NOT_FOUND", reason="QUEUE_NOT_FOUND", message=f"there is no queue {workload.queue}"
            )
            return pb.WorkloadResult(key=workload.key, refusal=refusal)
        taken = workload_pb2.Workload.FromString(workload.SerializeToString())
        taken.state = workload_pb2.WORKLOAD_STATE_PENDING
        taken.create_time.CopyFrom(BEGAN)
        self.world.workloads[taken.key.job_id] = taken
        return pb.WorkloadResult(key=taken.key, workload=taken)

    def _release(self, release: pb.Release) -> pb.WorkloadResult:
        workload = self._find(release.key)
        if workload.admitted.grant_id != release.grant_id:
            refusal = pb.Refusal(code="FAILED_PRECONDITION", reason="GRANT_MISMATCH", message="holds g")
            return pb.WorkloadResult(key=release.key, refusal=refusal)
        workload.state = workload_pb2.WORKLOAD_STATE_RELEASED
        return pb.WorkloadResult(key=release.key, workload=workload)

    def _find(self, key: workload_pb2.WorkloadKey) -> workload_pb2.Workload:
        if key.job_id not in self.world.workloads:
            raise WorkloadNotFound(f"there is no workload {key.job_id}")
        return self.world.workloads[key.job_id]

    def _explained(self, key: workload_pb2.WorkloadKey) -> pb.ExplainWorkloadResponse:
        workload = self._find(key)
        found = self.world.explained.get(key.job_id, pb.ExplainWorkloadResponse())
        found.workload.CopyFrom(workload)
        return found


def occupy(world: World) -> None:
    """Makes the queue `busy` so: `runs` has it, `waits` waits until `runs` has left, and `stuck` is held."""
    for job, state in (
        ("runs", workload_pb2.WORKLOAD_STATE_EVICTING),
        ("stuck", workload_pb2.WORKLOAD_STATE_HELD),
        ("waits", workload_pb2.WORKLOAD_STATE_PENDING),
    ):
        world.workloads[job] = _workload(job, state)
    world.workloads["runs"].admitted.roles.add(role="worker", base=2, surplus=1)
    world.workloads["runs"].admitted.cluster = "default-cluster"
    world.workloads["waits"].pending_reason = workload_pb2.PENDING_REASON_RECLAIMING
    world.explained["waits"] = _explained()
    world.decisions = [*reversed(world.explained["waits"].decisions)]
    world.simulated = _simulated()
    load = pb.QueueLoad(queue="busy", share=0.0025, waiting=1, admitted=1, admissions=3, evictions=1)
    load.used.amounts.update({"cpu": 6000, "memory": 3 * 2**30})
    load.leaving.amounts["cpu"] = 6000
    load.kept.amounts["cpu"] = 4000
    world.loads = [load]


def _workload(job: str, state: Any) -> workload_pb2.Workload:
    key = workload_pb2.WorkloadKey(job_id=job, attempt=1)
    workload = workload_pb2.Workload(key=key, queue="busy", user="alice", priority=10, state=state, create_time=BEGAN)
    role = workload.roles.add(role="worker", min_replicas=2, max_replicas=4)
    role.per_replica.amounts.update({"cpu": 2000, "memory": 2**30})
    return workload


def _explained() -> pb.ExplainWorkloadResponse:
    told = pb.ExplainWorkloadResponse()
    waiting = told.waiting
    waiting.reason, waiting.message = workload_pb2.PENDING_REASON_RECLAIMING, "Others were told to leave for it."
    waiting.queue = "busy"
    waiting.shortages.add(resource="cpu", asked=4000, free=2000)
    waiting.leaving.add(job_id="runs", attempt=1)
    waiting.kept_until.CopyFrom(BEGAN)
    waiting.position.position, waiting.position.waiting = 1, 1
    waiting.position.estimate.FromSeconds(90)
    told.decisions.add(
        id=1,
        time=BEGAN,
        key=workload_pb2.WorkloadKey(job_id="runs", attempt=1),
        queue="busy",
        kind=pb.DECISION_KIND_EVICT,
        eviction_reason=workload_pb2.EVICTION_REASON_RECLAIM,
        beneficiary=workload_pb2.WorkloadKey(job_id="waits", attempt=1),
        replicas=[workload_pb2.RoleGrant(role="worker", surplus=1)],
    )
    told.decisions.add(
        id=2,
        time=BEGAN,
        key=workload_pb2.WorkloadKey(job_id="waits", attempt=1),
        queue="busy",
        kind=pb.DECISION_KIND_KEEP,
    )
    return told


def _simulated() -> pb.SimulateResponse:
    told = pb.SimulateResponse()
    key = workload_pb2.WorkloadKey(job_id="supposed", attempt=1)
    told.decisions.add(key=key, queue="busy", kind=pb.DECISION_KIND_ADMIT)
    told.workloads.add(key=key, admitted=True)
    waits = told.workloads.add(key=workload_pb2.WorkloadKey(job_id="second", attempt=1))
    waits.waiting.reason, waits.waiting.message = workload_pb2.PENDING_REASON_QUEUE_FULL, "Queue 'busy' is full."
    never = told.workloads.add(key=workload_pb2.WorkloadKey(job_id="third", attempt=1))
    never.refusal.code, never.refusal.reason = "FAILED_PRECONDITION", "NEVER_FITS"
    never.refusal.message = "it asks for 99 of cpu; the ceiling of the queue 'busy' is 8"
    return told
