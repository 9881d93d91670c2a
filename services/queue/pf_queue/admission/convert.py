"""Between messages and the values of admission."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from google.protobuf.duration_pb2 import Duration

from paddleflow.problems import Problem
from paddleflow.queue.v1 import admission_pb2, workload_pb2
from pf_kit.events import Fact
from pf_kit.wire import timestamp
from pf_queue.admission.core.explain import Reason
from pf_queue.admission.core.workloads import Why
from pf_queue.admission.domain import (
    Admitted,
    Decided,
    DecisionKind,
    Evicting,
    Key,
    Outcome,
    Record,
    Released,
    Replicas,
    Requeued,
    RoleRequest,
    Spec,
    Submitted,
    Updated,
    WorkloadFact,
    WorkloadState,
)
from pf_queue.admission.times import moment
from pf_queue.wire import enum_value, resources_message, resources_of

WORKLOAD_EVENT = workload_pb2.WorkloadEvent.DESCRIPTOR.full_name

STATES = {
    WorkloadState.PENDING: workload_pb2.WORKLOAD_STATE_PENDING,
    WorkloadState.ADMITTED: workload_pb2.WORKLOAD_STATE_ADMITTED,
    WorkloadState.EVICTING: workload_pb2.WORKLOAD_STATE_EVICTING,
    WorkloadState.HELD: workload_pb2.WORKLOAD_STATE_HELD,
    WorkloadState.RELEASED: workload_pb2.WORKLOAD_STATE_RELEASED,
    WorkloadState.SET_ASIDE: workload_pb2.WORKLOAD_STATE_SET_ASIDE,
}
OUTCOMES = {
    Outcome.FINISHED: workload_pb2.RELEASE_OUTCOME_FINISHED,
    Outcome.EVICTED: workload_pb2.RELEASE_OUTCOME_EVICTED,
    Outcome.CANCELLED: workload_pb2.RELEASE_OUTCOME_CANCELLED,
    Outcome.NOT_STARTED: workload_pb2.RELEASE_OUTCOME_NOT_STARTED,
}
WHYS = {
    Why.SURPLUS: workload_pb2.EVICTION_REASON_SURPLUS,
    Why.RECLAIM: workload_pb2.EVICTION_REASON_RECLAIM,
    Why.PRIORITY: workload_pb2.EVICTION_REASON_PRIORITY,
    Why.DRAIN: workload_pb2.EVICTION_REASON_DRAIN,
}
REASONS = {
    Reason.NOT_CONSIDERED: workload_pb2.PENDING_REASON_NOT_CONSIDERED,
    Reason.QUEUE_FULL: workload_pb2.PENDING_REASON_QUEUE_FULL,
    Reason.NOTHING_TO_BORROW: workload_pb2.PENDING_REASON_NOTHING_TO_BORROW,
    Reason.NO_MACHINE: workload_pb2.PENDING_REASON_NO_MACHINE,
    Reason.USER_LIMIT: workload_pb2.PENDING_REASON_USER_LIMIT,
    Reason.JOB_LIMIT: workload_pb2.PENDING_REASON_JOB_LIMIT,
    Reason.BEHIND: workload_pb2.PENDING_REASON_BEHIND,
    Reason.RESERVED: workload_pb2.PENDING_REASON_RESERVED,
    Reason.RECLAIMING: workload_pb2.PENDING_REASON_RECLAIMING,
    Reason.QUEUE_HELD: workload_pb2.PENDING_REASON_QUEUE_HELD,
    Reason.BACKOFF: workload_pb2.PENDING_REASON_BACKOFF,
    Reason.CLUSTER_OFFLINE: workload_pb2.PENDING_REASON_CLUSTER_OFFLINE,
}
DECISIONS = {
    DecisionKind.ADMIT: admission_pb2.DECISION_KIND_ADMIT,
    DecisionKind.GROW: admission_pb2.DECISION_KIND_GROW,
    DecisionKind.EVICT: admission_pb2.DECISION_KIND_EVICT,
    DecisionKind.KEEP: admission_pb2.DECISION_KIND_KEEP,
    DecisionKind.KEEP_NO_MORE: admission_pb2.DECISION_KIND_KEEP_NO_MORE,
    DecisionKind.REQUEUE: admission_pb2.DECISION_KIND_REQUEUE,
    DecisionKind.HOLD: admission_pb2.DECISION_KIND_HOLD,
}


def key_of(message: workload_pb2.WorkloadKey) -> Key:
    return Key(message.job_id, message.attempt)


def key_message(key: Key) -> workload_pb2.WorkloadKey:
    return workload_pb2.WorkloadKey(job_id=key.job, attempt=key.attempt)


def spec_of(message: workload_pb2.Workload) -> Spec:
    """What a caller asks for, right or wrong; what is not set filled in."""
    return Spec(
        key=key_of(message.key),
        queue=message.queue,
        user=message.user,
        priority=message.priority,
        roles=tuple(_role_of(role) for role in message.roles),
        grace=_micros(message.grace_period),
        min_run=_micros(message.min_run_time),
        revision=message.revision,
    )


def _role_of(message: workload_pb2.RoleRequest) -> RoleRequest:
    return RoleRequest(
        role=message.role,
        least=message.min_replicas,
        most=message.max_replicas or message.min_replicas,
        step=message.surplus_step or 1,
        per_replica=resources_of(message.per_replica),
    )


def outcome_of(field: str, value: int) -> Outcome | None:
    return enum_value(field, value, OUTCOMES, None)


def workload_message(record: Record, reason: Reason | None = None) -> workload_pb2.Workload:
    spec = record.spec
    message = workload_pb2.Workload(
        key=key_message(spec.key),
        queue=spec.queue,
        user=spec.user,
        priority=spec.priority,
        roles=[_role_message(role) for role in spec.roles],
        grace_period=duration(spec.grace),
        min_run_time=duration(spec.min_run),
        state=STATES[record.state],
        create_time=timestamp(moment(record.submitted)),
        requeue_count=record.requeues,
        revision=spec.revision,
    )
    if reason is not None:
        message.pending_reason = REASONS[reason]
    if record.holds:
        message.admitted.CopyFrom(admitted_message(record))
    return message


def _role_message(role: RoleRequest) -> workload_pb2.RoleRequest:
    return workload_pb2.RoleRequest(
        role=role.role,
        min_replicas=role.least,
        max_replicas=role.most,
        surplus_step=role.step,
        per_replica=resources_message(role.per_replica),
    )


def admitted_message(record: Record) -> workload_pb2.Admitted:
    return workload_pb2.Admitted(
        key=key_message(record.spec.key),
        grant_id=record.grant,
        grant_version=record.grant_version,
        roles=held(record),
        queue=record.spec.queue,
        cluster=record.cluster,
        deadline=timestamp(moment(record.start_by)),
    )


def grants(replicas: Iterable[Replicas]) -> Sequence[workload_pb2.RoleGrant]:
    return [workload_pb2.RoleGrant(role=each.role, base=each.base, surplus=each.surplus) for each in replicas]


def held(record: Record) -> Iterator[workload_pb2.RoleGrant]:
    """What a workload holds, and what of it is on its way out."""
    leaving = record.shrinking or (0,) * len(record.spec.roles)
    for each, count in zip(record.part(None), leaving, strict=True):
        yield workload_pb2.RoleGrant(role=each.role, base=each.base, surplus=each.surplus, leaving=count)


def left(record: Record) -> Iterator[workload_pb2.RoleGrant]:
    """What a workload holds when it has given back what it was told to of its surplus."""
    for grant in held(record):
        yield workload_pb2.RoleGrant(role=grant.role, base=grant.base, surplus=grant.surplus - grant.leaving)


def fact(event: WorkloadFact) -> Fact:
    """The event as it is stored and sent."""
    record = event.record
    payload = event_message(event).SerializeToString(deterministic=True)
    return Fact(WORKLOAD_EVENT, f"workload/{record.spec.key.job}", record.version, payload)


def event_message(event: WorkloadFact) -> workload_pb2.WorkloadEvent:
    record = event.record
    key = key_message(record.spec.key)
    match event:
        case Submitted():
            return workload_pb2.WorkloadEvent(submitted=workload_message(record))
        case Updated():
            return workload_pb2.WorkloadEvent(updated=workload_message(record))
        case Admitted():
            return workload_pb2.WorkloadEvent(admitted=admitted_message(record))
        case Evicting(counts=counts, why=why, beneficiary=beneficiary):
            evicting = workload_pb2.Evicting(
                key=key,
                grant_id=record.grant,
                grant_version=record.grant_version + 1,
                replicas=grants(record.part(counts)),
                grace_deadline=timestamp(moment(record.leave_by)),
                reason=WHYS[why],
                queue=record.spec.queue,
                left=() if counts is None else left(record),
            )
            if beneficiary:
                evicting.beneficiary.CopyFrom(key_message(Key.parse(beneficiary)))
            return workload_pb2.WorkloadEvent(evicting=evicting)
        case Released(counts=counts):
            outcome = OUTCOMES[record.outcome] if record.outcome else workload_pb2.RELEASE_OUTCOME_UNSPECIFIED
            released = workload_pb2.Released(
                key=key,
                grant_id=record.grant,
                replicas=grants(record.part(counts)),
                outcome=outcome,
                queue=record.spec.queue,
            )
            return workload_pb2.WorkloadEvent(released=released)
        case Requeued():
            requeued = workload_pb2.Requeued(key=key, held=record.state is WorkloadState.HELD, queue=record.spec.queue)
            if record.not_before:
                requeued.not_before.CopyFrom(timestamp(moment(record.not_before)))
            return workload_pb2.WorkloadEvent(requeued=requeued)


def decision_message(id_: int, decided: Decided) -> admission_pb2.DecisionRecord:
    message = admission_pb2.DecisionRecord(
        id=id_,
        time=timestamp(moment(decided.time)),
        key=key_message(decided.key),
        queue=decided.queue,
        kind=DECISIONS[decided.kind],
        replicas=grants(decided.replicas),
    )
    if decided.why is not None:
        message.eviction_reason = WHYS[decided.why]
    if decided.beneficiary:
        message.beneficiary.CopyFrom(key_message(Key.parse(decided.beneficiary)))
    return message


def refusal_message(problem: Problem) -> admission_pb2.Refusal:
    metadata: Mapping[str, str] = problem.metadata
    return admission_pb2.Refusal(
        code=problem.code.value, reason=problem.reason, message=problem.message, metadata=metadata
    )


def duration(micros: int) -> Duration:
    message = Duration()
    message.FromMicroseconds(micros)
    return message


def _micros(message: Duration) -> int:
    return message.ToMicroseconds()
