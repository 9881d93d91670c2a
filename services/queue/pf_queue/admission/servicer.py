"""AdmissionService on the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from paddleflow.problems import Problem
from paddleflow.queue.v1 import admission_pb2 as pb
from paddleflow.queue.v1 import admission_pb2_grpc
from pf_kit.call import current_call
from pf_kit.lists import Lists
from pf_kit.mutation import audit_entry, request_id_of
from pf_kit.unit import AuditEntry, Database
from pf_kit.watch import Watches
from pf_queue.admission import render, requests
from pf_queue.admission.convert import key_message, refusal_message, workload_message
from pf_queue.admission.domain import Key, Record
from pf_queue.admission.listing import Place
from pf_queue.admission.service import Workloads
from pf_queue.admission.store import WorkloadStore
from pf_queue.admission.watching import Teller
from pf_queue.quota.visibility import Visibility

Mutation = (
    pb.SubmitWorkloadsRequest
    | pb.ReleaseWorkloadsRequest
    | pb.ResizeWorkloadRequest
    | pb.UpdateWorkloadRequest
    | pb.ReportRunningRequest
    | pb.ResumeWorkloadRequest
)


class AdmissionServicer(admission_pb2_grpc.AdmissionServiceServicer):
    """Decides which workloads may start."""

    def __init__(
        self,
        *,
        database: Database,
        lists: Lists,
        watches: Watches,
        workloads: Workloads,
        store: WorkloadStore,
        visibility: Visibility,
    ) -> None:
        self._database = database
        self._lists = lists
        self._watches = watches
        self._workloads = workloads
        self._store = store
        self._visibility = visibility

    async def SubmitWorkloads(self, request: pb.SubmitWorkloadsRequest, _context: object) -> pb.SubmitWorkloadsResponse:
        specs = requests.specs(request)
        keys = [spec.key for spec in specs]
        found = await self._workloads.submit(specs, _entry(request, keys))
        return pb.SubmitWorkloadsResponse(results=_results(keys, found))

    async def ReleaseWorkloads(
        self, request: pb.ReleaseWorkloadsRequest, _context: object
    ) -> pb.ReleaseWorkloadsResponse:
        endings = requests.endings(request)
        keys = [ending.key for ending in endings]
        found = await self._workloads.release(endings, _entry(request, keys))
        return pb.ReleaseWorkloadsResponse(results=_results(keys, found))

    async def ResizeWorkload(self, request: pb.ResizeWorkloadRequest, _context: object) -> pb.ResizeWorkloadResponse:
        key, left = requests.sizes(request)
        record = await self._workloads.resize(key, request.grant_id, left, _entry(request, [key]))
        return pb.ResizeWorkloadResponse(workload=workload_message(record))

    async def UpdateWorkload(self, request: pb.UpdateWorkloadRequest, _context: object) -> pb.UpdateWorkloadResponse:
        key = requests.change(request)
        record = await self._workloads.update(key, request.priority, request.revision, _entry(request, [key]))
        return pb.UpdateWorkloadResponse(workload=workload_message(record))

    async def ReportRunning(self, request: pb.ReportRunningRequest, _context: object) -> pb.ReportRunningResponse:
        reports = requests.reports(request)
        await self._workloads.running(reports, _entry(request, [key for key, _ in reports]))
        return pb.ReportRunningResponse()

    async def ResumeWorkload(self, request: pb.ResumeWorkloadRequest, _context: object) -> pb.ResumeWorkloadResponse:
        key = requests.key(request.key)
        record = await self._workloads.resume(key, _entry(request, [key]))
        return pb.ResumeWorkloadResponse(workload=workload_message(record))

    async def GetWorkload(self, request: pb.GetWorkloadRequest, _context: object) -> pb.GetWorkloadResponse:
        standing = await self._workloads.get(current_call().principal, requests.key(request.key, least=0))
        return pb.GetWorkloadResponse(workload=workload_message(standing.record, standing.reason))

    async def ListWorkloads(self, request: pb.ListWorkloadsRequest, _context: object) -> pb.ListWorkloadsResponse:
        chosen = requests.workload_filter(request)
        caller = current_call().principal
        page = await self._lists.page(
            request,
            lambda after, limit: self._workloads.in_queue(caller, chosen, Place.parse(after), limit),
            lambda listed: str(listed.place),
        )
        explained = await self._workloads.explained([listed.record for listed in page.things])
        workloads = [workload_message(standing.record, standing.reason) for standing in explained]
        return pb.ListWorkloadsResponse(workloads=workloads, next_page_token=page.next_token)

    async def GetPosition(self, request: pb.GetPositionRequest, _context: object) -> pb.GetPositionResponse:
        key = requests.key(request.key, least=0)
        return render.position(await self._workloads.position(current_call().principal, key))

    async def ExplainWorkload(self, request: pb.ExplainWorkloadRequest, _context: object) -> pb.ExplainWorkloadResponse:
        key = requests.key(request.key, least=0)
        story = await self._workloads.story(current_call().principal, key, all_attempts=request.all_attempts)
        return render.story(story)

    async def Simulate(self, request: pb.SimulateRequest, _context: object) -> pb.SimulateResponse:
        specs, change = requests.supposed(request)
        return render.forecast(await self._workloads.forecast(current_call().principal, specs, change))

    async def ListLoads(self, request: pb.ListLoadsRequest, _context: object) -> pb.ListLoadsResponse:
        requests.require_load_filter(request)
        found = await self._workloads.loads(current_call().principal, request.cluster, request.queue)
        page = await self._lists.page(request, render.after(found), lambda load: load.queue)
        return pb.ListLoadsResponse(loads=map(render.load, page.things), next_page_token=page.next_token)

    async def ListDecisions(self, request: pb.ListDecisionsRequest, _context: object) -> pb.ListDecisionsResponse:
        caller, chosen = current_call().principal, requests.decision_filter(request)
        page = await self._lists.page(
            request,
            lambda after, limit: self._workloads.decisions(caller, chosen, int(after) if after else None, limit),
            lambda stored: str(stored.id),
        )
        return pb.ListDecisionsResponse(decisions=map(render.decision, page.things), next_page_token=page.next_token)

    async def WatchWorkloads(
        self, request: pb.WatchWorkloadsRequest, _context: object
    ) -> AsyncIterator[pb.WatchWorkloadsResponse]:
        teller = Teller(
            database=self._database,
            store=self._store,
            visibility=self._visibility,
            caller=current_call().principal,
            asked=requests.watched(request),
        )
        if request.resume_token:
            await teller.resume(request.resume_token)
        async for page in self._watches.watch(request.resume_token, existing=teller.existing, changes=teller.changes):
            yield pb.WatchWorkloadsResponse(
                events=page.messages, resume_token=page.resume_token, bookmark=page.bookmark
            )


def _entry(request: Mutation, keys: Sequence[Key]) -> AuditEntry:
    """The record of a call; one that is about many workloads names the first."""
    subject = f"workload/{keys[0]}" if len(keys) == 1 else f"workload/{keys[0]} and {len(keys) - 1} more"
    return audit_entry(current_call(), subject, request_id_of(request))


def _results(keys: Sequence[Key], found: Sequence[Record | Problem]) -> Sequence[pb.WorkloadResult]:
    return [_result(key, each) for key, each in zip(keys, found, strict=True)]


def _result(key: Key, found: Record | Problem) -> pb.WorkloadResult:
    if isinstance(found, Problem):
        return pb.WorkloadResult(key=key_message(key), refusal=refusal_message(found))
    return pb.WorkloadResult(key=key_message(key), workload=workload_message(found))
