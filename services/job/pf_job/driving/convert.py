"""Between the messages of the queue service and the values of the driving of jobs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC

from google.protobuf.duration_pb2 import Duration

from paddleflow.common.v1 import event_pb2, resources_pb2
from paddleflow.problems import FailedPrecondition, Problem
from paddleflow.queue.v1 import admission_pb2, cluster_pb2, workload_pb2
from pf_job.driving.ports import AttemptKey, GivenBack, Left, RoleWish, Standing, Wish
from pf_job.jobs.life import Ending, Event, Grant
from pf_job.jobs.states import Kind
from pf_job.jobs.telling import News
from pf_job.runtimes.port import Machine

WORKLOAD_EVENT = workload_pb2.WorkloadEvent.DESCRIPTOR.full_name

OUTCOMES: Mapping[Ending, workload_pb2.ReleaseOutcome.ValueType] = {
    Ending.SUCCEEDED: workload_pb2.RELEASE_OUTCOME_FINISHED,
    Ending.FAILED: workload_pb2.RELEASE_OUTCOME_FINISHED,
    Ending.FATAL: workload_pb2.RELEASE_OUTCOME_FINISHED,
    Ending.UNSTARTED: workload_pb2.RELEASE_OUTCOME_NOT_STARTED,
    Ending.STOPPED: workload_pb2.RELEASE_OUTCOME_CANCELLED,
    Ending.EVICTED: workload_pb2.RELEASE_OUTCOME_EVICTED,
}
WHY_EVICTED: Mapping[workload_pb2.EvictionReason.ValueType, str] = {
    workload_pb2.EVICTION_REASON_RECLAIM: "another queue takes back what this one had borrowed",
    workload_pb2.EVICTION_REASON_PRIORITY: "a job of higher priority in the same queue needs the room",
    workload_pb2.EVICTION_REASON_DRAIN: "the queue is drained",
}


class Refused(FailedPrecondition):
    """The queue service does not take a job."""

    reason = "FAILED_PRECONDITION"


def refused(refusal: admission_pb2.Refusal) -> Problem:
    """The problem that a single refusal of a batch stands for."""
    return Refused(refusal.message, metadata={**refusal.metadata, "reason": refusal.reason})


def refusal_of(result: admission_pb2.WorkloadResult) -> Problem | None:
    """Why an attempt will never be admitted; None if it may be, or is."""
    if result.HasField("refusal"):
        return refused(result.refusal)
    if result.workload.state == workload_pb2.WORKLOAD_STATE_RELEASED:
        return Refused("was taken out of its queue by somebody else")
    return None


def key_message(key: AttemptKey) -> workload_pb2.WorkloadKey:
    return workload_pb2.WorkloadKey(job_id=key.job, attempt=key.attempt)


def workload_message(wish: Wish) -> workload_pb2.Workload:
    message = workload_pb2.Workload(
        key=key_message(wish.key),
        queue=wish.queue,
        user=wish.user,
        priority=wish.priority,
        roles=map(_role_message, wish.roles),
        revision=wish.revision,
    )
    message.grace_period.FromTimedelta(wish.grace)
    if wish.protected:
        message.min_run_time.CopyFrom(Duration())
        message.min_run_time.FromTimedelta(wish.protected)
    return message


def release_message(given: GivenBack) -> admission_pb2.Release:
    return admission_pb2.Release(key=key_message(given.key), grant_id=given.grant, outcome=OUTCOMES[given.ending])


def resize_message(left: Left) -> admission_pb2.ResizeWorkloadRequest:
    roles = [workload_pb2.RoleGrant(role=role, surplus=surplus) for role, surplus in left.surplus.items()]
    return admission_pb2.ResizeWorkloadRequest(key=key_message(left.key), grant_id=left.grant, roles=roles)


def node_message(machine: Machine) -> cluster_pb2.Node:
    return cluster_pb2.Node(
        name=machine.name,
        allocatable=resources_pb2.Resources(amounts=machine.capacity),
        schedulable=machine.schedulable,
    )


def grant_of(admitted: workload_pb2.Admitted) -> Grant:
    return Grant(
        id=admitted.grant_id,
        version=admitted.grant_version,
        cluster=admitted.cluster,
        replicas=_counts(admitted.roles),
        start_by=admitted.deadline.ToDatetime(UTC),
    )


def standing_of(change: admission_pb2.WorkloadChange) -> Standing | None:
    """How a workload stands as a watch begins; None if the change is another."""
    if change.kind != event_pb2.CHANGE_KIND_EXISTING:
        return None
    workload = change.workload
    admitted = workload.admitted
    leaves = any(role.leaving for role in admitted.roles)
    return Standing(
        key=_key(workload.key),
        grant=grant_of(admitted) if workload.HasField("admitted") else None,
        evicting=workload.state == workload_pb2.WORKLOAD_STATE_EVICTING,
        left={role.role: role.base + role.surplus - role.leaving for role in admitted.roles} if leaves else None,
        revision=workload.revision,
    )


def news_of(event: workload_pb2.WorkloadEvent) -> Iterator[News]:
    """What an event of the queue service means for a job; often nothing, because the job service caused it."""
    match event.WhichOneof("fact"):
        case "admitted":
            yield _news(event.admitted.key, Kind.ADMITTED, grant=grant_of(event.admitted))
        case "evicting" if event.evicting.reason == workload_pb2.EVICTION_REASON_SURPLUS:
            evicting = event.evicting
            yield shrunk(_key(evicting.key), _counts(evicting.left), evicting.grant_version, _for(evicting))
        case "evicting":
            yield _news(event.evicting.key, Kind.EVICTED, message=_why(event.evicting))
        case "released" if event.released.outcome:
            yield _news(event.released.key, Kind.RELEASED)
        case "requeued":
            yield _requeued(event.requeued)
        case _:
            return


def shrunk(key: AttemptKey, left: Mapping[str, int], version: int, beneficiary: str = "") -> News:
    """The queue takes back surplus."""
    message = f"the room is needed{beneficiary}"
    return News(key.job, Event(kind=Kind.SHRUNK, attempt=key.attempt, left=left, version=version, message=message))


def _requeued(requeued: workload_pb2.Requeued) -> News:
    message = "was pushed out too often, and is held until somebody resumes it" if requeued.held else ""
    not_before = requeued.not_before.ToDatetime(UTC) if requeued.HasField("not_before") else None
    key = requeued.key
    return News(key.job_id, Event(kind=Kind.REQUEUED, attempt=key.attempt, message=message, not_before=not_before))


def _news(key: workload_pb2.WorkloadKey, kind: Kind, *, message: str = "", grant: Grant | None = None) -> News:
    return News(key.job_id, Event(kind=kind, attempt=key.attempt, message=message, grant=grant))


def _why(evicting: workload_pb2.Evicting) -> str:
    why = WHY_EVICTED.get(evicting.reason, "the queue takes back what it holds")
    return f"pushed out: {why}{_for(evicting)}"


def _for(evicting: workload_pb2.Evicting) -> str:
    beneficiary = evicting.beneficiary.job_id
    return f" ({beneficiary})" if beneficiary else ""


def _counts(roles: Iterable[workload_pb2.RoleGrant]) -> Mapping[str, int]:
    return {role.role: role.base + role.surplus for role in roles}


def _key(key: workload_pb2.WorkloadKey) -> AttemptKey:
    return AttemptKey(key.job_id, key.attempt)


def _role_message(wish: RoleWish) -> workload_pb2.RoleRequest:
    return workload_pb2.RoleRequest(
        role=wish.role,
        min_replicas=wish.least,
        max_replicas=wish.most,
        surplus_step=wish.step,
        per_replica=resources_pb2.Resources(amounts=wish.each),
    )
