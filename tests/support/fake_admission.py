"""What the small server of `fake_paddleflow` answers about workloads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paddleflow.problems import WorkloadNotFound
from paddleflow.queue.v1 import admission_pb2, workload_pb2
from support.fake_services import BEGAN, World, page


@dataclass
class Admission:
    world: World

    def SubmitWorkloads(self, request: Any) -> Any:  # noqa: N802
        return admission_pb2.SubmitWorkloadsResponse(results=map(self._submit, request.workloads))

    def ReleaseWorkloads(self, request: Any) -> Any:  # noqa: N802
        return admission_pb2.ReleaseWorkloadsResponse(results=map(self._release, request.releases))

    def ResizeWorkload(self, request: Any) -> Any:  # noqa: N802
        workload = self._find(request.key)
        workload.admitted.roles[0].surplus = request.roles[0].surplus
        return admission_pb2.ResizeWorkloadResponse(workload=workload)

    def ReportRunning(self, _: Any) -> Any:  # noqa: N802
        return admission_pb2.ReportRunningResponse()

    def ResumeWorkload(self, request: Any) -> Any:  # noqa: N802
        workload = self._find(request.key)
        workload.state = workload_pb2.WORKLOAD_STATE_PENDING
        return admission_pb2.ResumeWorkloadResponse(workload=workload)

    def GetWorkload(self, request: Any) -> Any:  # noqa: N802
        return admission_pb2.GetWorkloadResponse(workload=self._find(request.key))

    def ListWorkloads(self, request: Any) -> Any:  # noqa: N802
        chosen = [
            each
            for each in self.world.workloads.values()
            if each.queue == request.queue and (not request.states or each.state in request.states)
        ]
        workloads, token = page(chosen, request, lambda each: each.key.job_id)
        return admission_pb2.ListWorkloadsResponse(workloads=workloads, next_page_token=token)

    def GetPosition(self, request: Any) -> Any:  # noqa: N802
        return self._explained(request.key).waiting.position

    def ExplainWorkload(self, request: Any) -> Any:  # noqa: N802
        return self._explained(request.key)

    def Simulate(self, _: Any) -> Any:  # noqa: N802
        return self.world.simulated

    def ListLoads(self, request: Any) -> Any:  # noqa: N802
        loads, token = page(self.world.loads, request, lambda load: load.queue)
        return admission_pb2.ListLoadsResponse(loads=loads, next_page_token=token)

    def ListDecisions(self, request: Any) -> Any:  # noqa: N802
        decisions, token = page(self.world.decisions, request, lambda each: f"{10**6 - each.id:06}")
        return admission_pb2.ListDecisionsResponse(decisions=decisions, next_page_token=token)

    def WatchWorkloads(self, _: Any) -> Any:  # noqa: N802
        """Played by the world's streams."""

    def _submit(self, workload: workload_pb2.Workload) -> admission_pb2.WorkloadResult:
        if workload.queue not in self.world.queues:
            refusal = admission_pb2.Refusal(
                code="NOT_FOUND", reason="QUEUE_NOT_FOUND", message=f"there is no queue {workload.queue}"
            )
            return admission_pb2.WorkloadResult(key=workload.key, refusal=refusal)
        taken = workload_pb2.Workload.FromString(workload.SerializeToString())
        taken.state = workload_pb2.WORKLOAD_STATE_PENDING
        taken.create_time.CopyFrom(BEGAN)
        self.world.workloads[taken.key.job_id] = taken
        return admission_pb2.WorkloadResult(key=taken.key, workload=taken)

    def _release(self, release: admission_pb2.Release) -> admission_pb2.WorkloadResult:
        workload = self._find(release.key)
        if workload.admitted.grant_id != release.grant_id:
            refusal = admission_pb2.Refusal(code="FAILED_PRECONDITION", reason="GRANT_MISMATCH", message="holds g")
            return admission_pb2.WorkloadResult(key=release.key, refusal=refusal)
        workload.state = workload_pb2.WORKLOAD_STATE_RELEASED
        return admission_pb2.WorkloadResult(key=release.key, workload=workload)

    def _find(self, key: workload_pb2.WorkloadKey) -> workload_pb2.Workload:
        if key.job_id not in self.world.workloads:
            raise WorkloadNotFound(f"there is no workload {key.job_id}")
        return self.world.workloads[key.job_id]

    def _explained(self, key: workload_pb2.WorkloadKey) -> admission_pb2.ExplainWorkloadResponse:
        workload = self._find(key)
        found = self.world.explained.get(key.job_id, admission_pb2.ExplainWorkloadResponse())
        found.workload.CopyFrom(workload)
        return found
