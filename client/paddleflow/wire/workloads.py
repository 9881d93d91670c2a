"""Workloads to and from the wire."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from paddleflow.models.workloads import (
    Admitted,
    Evicting,
    EvictionReason,
    PendingReason,
    Released,
    ReleaseOutcome,
    Requeued,
    RoleGrant,
    RoleRequest,
    Workload,
    WorkloadFact,
    WorkloadKey,
    WorkloadState,
)
from paddleflow.queue.v1 import workload_pb2
from paddleflow.wire.base import EnumCodec, amounts_from_wire, amounts_to_wire, build, duration_to_wire, time_from_wire

STATE = EnumCodec(WorkloadState, workload_pb2.WorkloadState, "WORKLOAD_STATE_")
REASON = EnumCodec(PendingReason, workload_pb2.PendingReason, "PENDING_REASON_")
EVICTION = EnumCodec(EvictionReason, workload_pb2.EvictionReason, "EVICTION_REASON_")
OUTCOME = EnumCodec(ReleaseOutcome, workload_pb2.ReleaseOutcome, "RELEASE_OUTCOME_")


def key_to_wire(key: WorkloadKey) -> workload_pb2.WorkloadKey:
    return build(workload_pb2.WorkloadKey, job_id=key.job_id, attempt=key.attempt)


def key_from_wire(key: workload_pb2.WorkloadKey) -> WorkloadKey:
    return WorkloadKey(key.job_id, key.attempt)


def workload_to_wire(workload: Workload) -> workload_pb2.Workload:
    """The workload as it is sent: without what only the server fills."""
    return build(
        workload_pb2.Workload,
        key=key_to_wire(workload.key),
        queue=workload.queue,
        user=workload.user,
        priority=workload.priority,
        roles=[_role_to_wire(role) for role in workload.roles],
        grace_period=duration_to_wire("grace_period", workload.grace_period),
        min_run_time=duration_to_wire("min_run_time", workload.min_run_time),
        revision=workload.revision,
    )


def workload_from_wire(workload: workload_pb2.Workload) -> Workload:
    return Workload(
        key=key_from_wire(workload.key),
        queue=workload.queue,
        user=workload.user,
        roles=tuple(_role_from_wire(role) for role in workload.roles),
        priority=workload.priority,
        grace_period=workload.grace_period.ToTimedelta(),
        min_run_time=workload.min_run_time.ToTimedelta(),
        revision=workload.revision,
        state=STATE.member(workload.state),
        pending_reason=REASON.member(workload.pending_reason),
        admitted=_admitted_from_wire(workload.admitted) if workload.HasField("admitted") else None,
        create_time=time_from_wire(workload, "create_time"),
        requeue_count=workload.requeue_count,
    )


def grants_from_wire(grants: Iterable[workload_pb2.RoleGrant]) -> Sequence[RoleGrant]:
    return tuple(RoleGrant(grant.role, grant.base, grant.surplus, grant.leaving) for grant in grants)


def fact_from_wire(event: workload_pb2.WorkloadEvent) -> WorkloadFact | None:
    """What has happened to a workload; None if it is something that only newer servers tell."""
    match event.WhichOneof("fact"):
        case "submitted":
            return workload_from_wire(event.submitted)
        case "updated":
            return workload_from_wire(event.updated)
        case "admitted":
            return _admitted_from_wire(event.admitted)
        case "evicting":
            return _evicting_from_wire(event.evicting)
        case "released":
            return _released_from_wire(event.released)
        case "requeued":
            return _requeued_from_wire(event.requeued)
        case None:
            return None


def _role_to_wire(role: RoleRequest) -> workload_pb2.RoleRequest:
    return build(
        workload_pb2.RoleRequest,
        role=role.role,
        min_replicas=role.min_replicas,
        max_replicas=role.max_replicas,
        surplus_step=role.surplus_step,
        per_replica=amounts_to_wire(role.per_replica),
    )


def _role_from_wire(role: workload_pb2.RoleRequest) -> RoleRequest:
    return RoleRequest(
        role=role.role,
        min_replicas=role.min_replicas,
        max_replicas=role.max_replicas,
        surplus_step=role.surplus_step,
        per_replica=amounts_from_wire(role.per_replica),
    )


def _admitted_from_wire(admitted: workload_pb2.Admitted) -> Admitted:
    return Admitted(
        key=key_from_wire(admitted.key),
        grant_id=admitted.grant_id,
        grant_version=admitted.grant_version,
        roles=grants_from_wire(admitted.roles),
        queue=admitted.queue,
        cluster=admitted.cluster,
        deadline=time_from_wire(admitted, "deadline"),
    )


def _evicting_from_wire(evicting: workload_pb2.Evicting) -> Evicting:
    return Evicting(
        key=key_from_wire(evicting.key),
        grant_id=evicting.grant_id,
        grant_version=evicting.grant_version,
        replicas=grants_from_wire(evicting.replicas),
        grace_deadline=time_from_wire(evicting, "grace_deadline"),
        reason=EVICTION.member(evicting.reason),
        beneficiary=key_from_wire(evicting.beneficiary) if evicting.HasField("beneficiary") else None,
        queue=evicting.queue,
        left=grants_from_wire(evicting.left),
    )


def _released_from_wire(released: workload_pb2.Released) -> Released:
    return Released(
        key=key_from_wire(released.key),
        grant_id=released.grant_id,
        replicas=grants_from_wire(released.replicas),
        outcome=OUTCOME.member(released.outcome),
        queue=released.queue,
    )


def _requeued_from_wire(requeued: workload_pb2.Requeued) -> Requeued:
    return Requeued(
        key=key_from_wire(requeued.key),
        not_before=time_from_wire(requeued, "not_before"),
        held=requeued.held,
        queue=requeued.queue,
    )
