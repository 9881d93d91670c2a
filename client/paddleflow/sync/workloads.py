# Written by tools/generate_sync.py from paddleflow/aio/workloads.py; change it there.
"""Workloads: which may start, which must make room, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Unpack

from paddleflow.models.admission import (
    Decision,
    DecisionFilter,
    Explanation,
    GoneNode,
    LoadFilter,
    Position,
    QueueLoad,
    Simulation,
)
from paddleflow.models.clusters import Node
from paddleflow.models.pages import Page
from paddleflow.models.queues import Queue
from paddleflow.models.watches import WatchItem
from paddleflow.models.workloads import (
    Release,
    RunningReport,
    Workload,
    WorkloadFact,
    WorkloadFilter,
    WorkloadKey,
    WorkloadResult,
)
from paddleflow.queue.v1 import admission_pb2, admission_pb2_grpc, workload_pb2
from paddleflow.sync.pages import every
from paddleflow.sync.session import Session
from paddleflow.sync.watch import watch
from paddleflow.wire.admission import (
    DECISION,
    changes_from_wire,
    decision_from_wire,
    explanation_from_wire,
    load_from_wire,
    placed_node_to_wire,
    position_from_wire,
    release_to_wire,
    report_to_wire,
    result_from_wire,
    simulation_from_wire,
)
from paddleflow.wire.base import build, time_to_wire
from paddleflow.wire.queues import queue_to_wire
from paddleflow.wire.workloads import STATE, key_to_wire, workload_from_wire, workload_to_wire


class Workloads:
    """What waits for admission, and what has it. Changes are for services and root; users see their queues' part.

    Where a workload is read, a key without an attempt stands for the last attempt.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._stub: admission_pb2_grpc.AdmissionServiceStub = admission_pb2_grpc.AdmissionServiceStub(session.channel)

    def submit(self, workloads: Iterable[Workload], *, request_id: str = "") -> Sequence[WorkloadResult]:
        """Lets workloads wait, at most 1000 at once; each is taken or refused by itself."""
        request = build(admission_pb2.SubmitWorkloadsRequest, workloads=[workload_to_wire(each) for each in workloads])
        reply = self._session.change(self._stub.SubmitWorkloads, request, request_id)
        return [result_from_wire(result) for result in reply.results]

    def release(self, releases: Iterable[Release], *, request_id: str = "") -> Sequence[WorkloadResult]:
        """Ends attempts, at most 1000 at once: what they held is free, and those that wait wait no more."""
        request = build(admission_pb2.ReleaseWorkloadsRequest, releases=[release_to_wire(each) for each in releases])
        reply = self._session.change(self._stub.ReleaseWorkloads, request, request_id)
        return [result_from_wire(result) for result in reply.results]

    def resize(self, key: WorkloadKey, grant_id: str, surplus: Mapping[str, int], *, request_id: str = "") -> Workload:
        """Gives back surplus; tells how many replicas above the minimum are left of each role that is named."""
        roles = [build(workload_pb2.RoleGrant, role=role, surplus=count) for role, count in surplus.items()]
        request = build(admission_pb2.ResizeWorkloadRequest, key=key_to_wire(key), grant_id=grant_id, roles=roles)
        reply = self._session.change(self._stub.ResizeWorkload, request, request_id)
        return workload_from_wire(reply.workload)

    def update(self, key: WorkloadKey, priority: int, *, revision: int = 0, request_id: str = "") -> Workload:
        """Changes the priority of a workload that waits; the key must name the attempt.

        With a revision, nothing is changed unless it is higher than the workload's.
        """
        request = build(admission_pb2.UpdateWorkloadRequest, key=key_to_wire(key), priority=priority, revision=revision)
        reply = self._session.change(self._stub.UpdateWorkload, request, request_id)
        return workload_from_wire(reply.workload)

    def report_running(self, reports: Iterable[RunningReport], *, request_id: str = "") -> None:
        """Says that workloads have begun to run, at most 1000 at once; unknown ones are passed over."""
        request = build(admission_pb2.ReportRunningRequest, reports=[report_to_wire(each) for each in reports])
        self._session.change(self._stub.ReportRunning, request, request_id)

    def resume(self, key: WorkloadKey, *, request_id: str = "") -> Workload:
        """Lets a workload that is held wait again; the key must name the attempt."""
        request = build(admission_pb2.ResumeWorkloadRequest, key=key_to_wire(key))
        reply = self._session.change(self._stub.ResumeWorkload, request, request_id)
        return workload_from_wire(reply.workload)

    def get(self, key: WorkloadKey) -> Workload:
        request = build(admission_pb2.GetWorkloadRequest, key=key_to_wire(key))
        reply = self._session.call(self._stub.GetWorkload, request)
        return workload_from_wire(reply.workload)

    def list(self, queue: str, **chosen: Unpack[WorkloadFilter]) -> Iterator[Workload]:
        """The workloads of a queue: those admitted, then those that wait, each in order; fetches page after page."""
        return every(lambda size, token: self.page(queue, size, token, **chosen))

    def page(self, queue: str, size: int = 0, token: str = "", **chosen: Unpack[WorkloadFilter]) -> Page[Workload]:
        """One page of the list: at most `size` workloads (0: as many as the server likes) from the token on."""
        request = build(
            admission_pb2.ListWorkloadsRequest,
            queue=queue,
            states=[STATE.number(state) for state in chosen.get("states", ())],
            user=chosen.get("user", ""),
            page_size=size,
            page_token=token,
        )
        reply = self._session.call(self._stub.ListWorkloads, request)
        return Page([workload_from_wire(workload) for workload in reply.workloads], reply.next_page_token)

    def position(self, key: WorkloadKey) -> Position:
        """Where a workload stands in its queue."""
        request = build(admission_pb2.GetPositionRequest, key=key_to_wire(key))
        return position_from_wire(self._session.call(self._stub.GetPosition, request))

    def explain(self, key: WorkloadKey, *, all_attempts: bool = False) -> Explanation:
        """Why a workload waits, and what was decided about it, or about all attempts of its job."""
        request = build(admission_pb2.ExplainWorkloadRequest, key=key_to_wire(key), all_attempts=all_attempts)
        return explanation_from_wire(self._session.call(self._stub.ExplainWorkload, request))

    def simulate(
        self,
        workloads: Iterable[Workload] = (),
        *,
        queues: Iterable[Queue] = (),
        nodes: Iterable[Node] = (),
        gone: Iterable[GoneNode] = (),
    ) -> Simulation:
        """What would happen if machines came and went, queues were changed, then workloads submitted.

        Nothing is changed. A queue given replaces the whole of that queue's rules; a machine must name its cluster.
        """
        request = build(
            admission_pb2.SimulateRequest,
            workloads=[workload_to_wire(workload) for workload in workloads],
            queues=[queue_to_wire(queue) for queue in queues],
            nodes=[placed_node_to_wire(node) for node in nodes],
            gone=[build(admission_pb2.GoneNode, cluster=node.cluster, name=node.name) for node in gone],
        )
        return simulation_from_wire(self._session.call(self._stub.Simulate, request))

    def loads(self, **chosen: Unpack[LoadFilter]) -> Iterator[QueueLoad]:
        """How busy queues are, by name; fetches page after page."""
        return every(lambda size, token: self.load_page(size, token, **chosen))

    def load_page(self, size: int = 0, token: str = "", **chosen: Unpack[LoadFilter]) -> Page[QueueLoad]:
        """One page of the loads: at most `size` (0: as many as the server likes) from the token on."""
        request = build(
            admission_pb2.ListLoadsRequest,
            cluster=chosen.get("cluster", ""),
            queue=chosen.get("queue", ""),
            page_size=size,
            page_token=token,
        )
        reply = self._session.call(self._stub.ListLoads, request)
        return Page([load_from_wire(load) for load in reply.loads], reply.next_page_token)

    def decisions(self, **chosen: Unpack[DecisionFilter]) -> Iterator[Decision]:
        """What was decided, newest first; fetches page after page."""
        return every(lambda size, token: self.decision_page(size, token, **chosen))

    def decision_page(self, size: int = 0, token: str = "", **chosen: Unpack[DecisionFilter]) -> Page[Decision]:
        """One page of the decisions: at most `size` (0: as many as the server likes) from the token on."""
        request = build(
            admission_pb2.ListDecisionsRequest,
            queue=chosen.get("queue", ""),
            job_id=chosen.get("job_id", ""),
            kinds=[DECISION.number(kind) for kind in chosen.get("kinds", ())],
            since=time_to_wire("since", chosen["since"]) if "since" in chosen else None,
            page_size=size,
            page_token=token,
        )
        reply = self._session.call(self._stub.ListDecisions, request)
        return Page([decision_from_wire(decision) for decision in reply.decisions], reply.next_page_token)

    def watch(self, *, queues: Iterable[str] = (), resume_token: str = "") -> Iterator[WatchItem[WorkloadFact]]:
        """The unfinished workloads of these queues (none: all you may see), then what happens to them, for ever.

        It resumes by itself when the stream breaks. Each attempt that was told ends as deleted; of one that you may see
        no more only the key and the queue are told then.
        """
        request = build(admission_pb2.WatchWorkloadsRequest, queues=queues, resume_token=resume_token)
        return watch(self._session, self._stub.WatchWorkloads, request, changes_from_wire)
