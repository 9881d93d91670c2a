"""Jobs, their replicas and what happened to them, to and from the wire."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from paddleflow.job.v1 import job_pb2
from paddleflow.models.job_specs import JobSpec, Priority
from paddleflow.models.jobs import (
    Happening,
    Job,
    JobChanges,
    JobFilter,
    JobOwner,
    JobResult,
    JobState,
    JobType,
    RoleStatus,
    Task,
    TaskState,
)
from paddleflow.models.watches import Change
from paddleflow.problems import InvalidArgument
from paddleflow.status import refused
from paddleflow.wire.audit import CHANGE_KIND
from paddleflow.wire.base import EnumCodec, amounts_from_wire, build, time_from_wire, time_to_wire
from paddleflow.wire.job_specs import PRIORITY, ROLE, spec_from_wire, spec_to_wire

TYPE = EnumCodec(JobType, job_pb2.JobType, "JOB_TYPE_")
STATE = EnumCodec(JobState, job_pb2.JobState, "JOB_STATE_")
TASK_STATE = EnumCodec(TaskState, job_pb2.TaskState, "TASK_STATE_")


def draft_to_wire(spec: JobSpec, kind: JobType, owner: str) -> job_pb2.Job:
    """The job that somebody asks for."""
    return build(job_pb2.Job, spec=spec_to_wire(spec), type=TYPE.number(kind), owner=owner)


def owner_to_wire(owner: JobOwner | None) -> job_pb2.JobOwner | None:
    return build(job_pb2.JobOwner, key=owner.key, scope=owner.scope, epoch=owner.epoch) if owner else None


def job_from_wire(job: job_pb2.Job) -> Job:
    return Job(
        id=job.id,
        spec=spec_from_wire(job.spec),
        type=TYPE.member(job.type),
        owner=job.owner,
        state=STATE.member(job.state),
        message=job.message,
        notes=tuple(job.notes),
        queue=job.queue,
        cluster=job.cluster,
        attempt=job.attempt,
        retries=job.retries,
        resources=amounts_from_wire(job.resources),
        accept_time=time_from_wire(job, "accept_time"),
        start_time=time_from_wire(job, "start_time"),
        finish_time=time_from_wire(job, "finish_time"),
        not_before=time_from_wire(job, "not_before"),
        roles=tuple(_role_from_wire(role) for role in job.roles),
        version=job.version,
        etag=job.etag,
    )


def result_from_wire(result: job_pb2.JobResult) -> JobResult:
    if result.code:
        return refused(result.code, result.reason, result.message, {})
    return job_from_wire(result.job)


def task_from_wire(task: job_pb2.Task) -> Task:
    return Task(
        job_id=task.job_id,
        attempt=task.attempt,
        role=ROLE.member(task.role),
        index=task.index,
        restarts=task.restarts,
        state=TASK_STATE.member(task.state),
        message=task.message,
        node=task.node,
        exit_status=task.exit_status if task.HasField("exit_status") else None,
        signal=task.signal,
        accelerators=tuple(task.accelerators),
        start_time=time_from_wire(task, "start_time"),
        finish_time=time_from_wire(task, "finish_time"),
    )


def happening_from_wire(happening: job_pb2.Happening) -> Happening:
    return Happening(
        number=happening.number,
        time=time_from_wire(happening, "time"),
        attempt=happening.attempt,
        state=STATE.member(happening.state),
        what=happening.what,
        message=happening.message,
        role=ROLE.member(happening.role),
        index=happening.index,
    )


def job_changes_from_wire(message: job_pb2.WatchJobsResponse) -> Iterator[Change[Job]]:
    for event in message.events:
        yield Change(CHANGE_KIND.member(event.kind), job_from_wire(event.job))


def list_request(chosen: JobFilter, size: int, token: str) -> job_pb2.ListJobsRequest:
    return build(
        job_pb2.ListJobsRequest,
        states=[STATE.number(state) for state in chosen.get("states", ())],
        queue=chosen.get("queue", ""),
        owner=chosen.get("owner", ""),
        labels=chosen.get("labels", {}),
        updated_since=time_to_wire("updated_since", chosen["updated_since"]) if "updated_since" in chosen else None,
        started_since=time_to_wire("started_since", chosen["started_since"]) if "started_since" in chosen else None,
        name_prefix=chosen.get("name_prefix", ""),
        page_size=size,
        page_token=token,
    )


def update_request(id_: str, changes: JobChanges, etag: str) -> job_pb2.UpdateJobRequest:
    """Raises InvalidArgument if there is no change."""
    if not any(changes.values()):
        raise InvalidArgument("Nothing to change is given: say a priority, labels or annotations")
    labels, annotations = changes.get("labels", {}), changes.get("annotations", {})
    return build(
        job_pb2.UpdateJobRequest,
        id=id_,
        priority=PRIORITY.number(changes.get("priority", Priority.UNSPECIFIED)),
        labels=_kept(labels),
        labels_removed=_removed(labels),
        annotations=_kept(annotations),
        annotations_removed=_removed(annotations),
        etag=etag,
    )


def _kept(pairs: Mapping[str, str | None]) -> dict[str, str]:
    return {key: value for key, value in pairs.items() if value is not None}


def _removed(pairs: Mapping[str, str | None]) -> list[str]:
    return [key for key, value in pairs.items() if value is None]


def _role_from_wire(role: job_pb2.RoleStatus) -> RoleStatus:
    return RoleStatus(ROLE.member(role.role), role.replicas, role.running, role.succeeded, role.failed)
