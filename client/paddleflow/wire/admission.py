"""What admission decides and tells, to and from the wire."""

from __future__ import annotations

from collections.abc import Iterator

from paddleflow.models.admission import (
    Decision,
    DecisionKind,
    Explanation,
    Position,
    QueueLoad,
    Shortage,
    SimulatedWorkload,
    Simulation,
    Waiting,
)
from paddleflow.models.clusters import Node
from paddleflow.models.watches import Change
from paddleflow.models.workloads import Release, RunningReport, WorkloadFact, WorkloadResult
from paddleflow.problems import Problem
from paddleflow.queue.v1 import admission_pb2, cluster_pb2
from paddleflow.status import refused
from paddleflow.wire.audit import CHANGE_KIND
from paddleflow.wire.base import EnumCodec, amounts_from_wire, build, time_from_wire
from paddleflow.wire.clusters import node_to_wire
from paddleflow.wire.workloads import (
    EVICTION,
    OUTCOME,
    REASON,
    fact_from_wire,
    grants_from_wire,
    key_from_wire,
    key_to_wire,
    workload_from_wire,
)

DECISION = EnumCodec(DecisionKind, admission_pb2.DecisionKind, "DECISION_KIND_")


def release_to_wire(release: Release) -> admission_pb2.Release:
    return build(
        admission_pb2.Release,
        key=key_to_wire(release.key),
        grant_id=release.grant_id,
        outcome=OUTCOME.number(release.outcome),
    )


def report_to_wire(report: RunningReport) -> admission_pb2.RunningReport:
    return build(admission_pb2.RunningReport, key=key_to_wire(report.key), grant_id=report.grant_id)


def placed_node_to_wire(node: Node) -> cluster_pb2.Node:
    """A machine that would be there, with the cluster it would be in."""
    message = node_to_wire(node)
    message.MergeFrom(build(cluster_pb2.Node, cluster=node.cluster))
    return message


def result_from_wire(result: admission_pb2.WorkloadResult) -> WorkloadResult:
    key = key_from_wire(result.key)
    if result.HasField("refusal"):
        return WorkloadResult(key, _refusal_from_wire(result.refusal))
    return WorkloadResult(key, workload_from_wire(result.workload))


def position_from_wire(position: admission_pb2.GetPositionResponse) -> Position:
    estimate = position.estimate.ToTimedelta() if position.HasField("estimate") else None
    return Position(position.position, position.waiting, estimate)


def explanation_from_wire(reply: admission_pb2.ExplainWorkloadResponse) -> Explanation:
    return Explanation(
        workload=workload_from_wire(reply.workload),
        waiting=_waiting_from_wire(reply.waiting) if reply.HasField("waiting") else None,
        decisions=[decision_from_wire(decision) for decision in reply.decisions],
    )


def simulation_from_wire(reply: admission_pb2.SimulateResponse) -> Simulation:
    return Simulation(
        decisions=[decision_from_wire(decision) for decision in reply.decisions],
        workloads=[_simulated_from_wire(workload) for workload in reply.workloads],
        horizon=reply.horizon.ToTimedelta(),
        cut_off=reply.cut_off,
    )


def load_from_wire(load: admission_pb2.QueueLoad) -> QueueLoad:
    return QueueLoad(
        queue=load.queue,
        used=amounts_from_wire(load.used),
        leaving=amounts_from_wire(load.leaving),
        kept=amounts_from_wire(load.kept),
        share=load.share,
        waiting=load.waiting,
        admitted=load.admitted,
        admissions=load.admissions,
        evictions=load.evictions,
    )


def decision_from_wire(decision: admission_pb2.DecisionRecord) -> Decision:
    return Decision(
        id=decision.id,
        time=time_from_wire(decision, "time"),
        key=key_from_wire(decision.key),
        queue=decision.queue,
        kind=DECISION.member(decision.kind),
        replicas=grants_from_wire(decision.replicas),
        eviction_reason=EVICTION.member(decision.eviction_reason),
        beneficiary=key_from_wire(decision.beneficiary) if decision.HasField("beneficiary") else None,
    )


def changes_from_wire(message: admission_pb2.WatchWorkloadsResponse) -> Iterator[Change[WorkloadFact]]:
    """The changes of a message, without those that only newer servers tell."""
    for event in message.events:
        known = workload_from_wire(event.workload) if event.HasField("workload") else fact_from_wire(event.event)
        if known is not None:
            yield Change(CHANGE_KIND.member(event.kind), known)


def _simulated_from_wire(workload: admission_pb2.SimulatedWorkload) -> SimulatedWorkload:
    return SimulatedWorkload(
        key=key_from_wire(workload.key),
        admitted=workload.admitted,
        waiting=_waiting_from_wire(workload.waiting) if workload.HasField("waiting") else None,
        refusal=_refusal_from_wire(workload.refusal) if workload.HasField("refusal") else None,
    )


def _waiting_from_wire(waiting: admission_pb2.Waiting) -> Waiting:
    return Waiting(
        reason=REASON.member(waiting.reason),
        message=waiting.message,
        queue=waiting.queue,
        shortages=tuple(Shortage(each.resource, each.asked, each.free) for each in waiting.shortages),
        behind=key_from_wire(waiting.behind) if waiting.HasField("behind") else None,
        leaving=tuple(key_from_wire(key) for key in waiting.leaving),
        kept_until=time_from_wire(waiting, "kept_until"),
        not_before=time_from_wire(waiting, "not_before"),
        position=position_from_wire(waiting.position),
    )


def _refusal_from_wire(refusal: admission_pb2.Refusal) -> Problem:
    return refused(refusal.code, refusal.reason, refusal.message, refusal.metadata)
