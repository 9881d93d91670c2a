"""Between the messages of the contract and the values of the domain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

from google.protobuf.timestamp_pb2 import Timestamp

from paddleflow.common.v1 import event_pb2, resources_pb2
from paddleflow.job.v1 import job_pb2, spec_pb2
from paddleflow.problems import InvalidArgument, PermissionDenied, Problem, Violation
from pf_job.jobs.domain import ENDED, Counts, Happening, Job, JobChanged, JobFilter, Owner, Part, Task, TaskState
from pf_job.jobs.service import Edit
from pf_job.jobs.states import State
from pf_job.jobs.taking import Draft
from pf_job.specs import fields
from pf_job.specs.convert import PRIORITIES, ROLES, given_spec, spec_message, spec_violations
from pf_job.specs.domain import JobType, Role
from pf_kit.events import Fact
from pf_kit.principal import Principal
from pf_kit.times import time_of
from pf_kit.wire import timestamp

JOB_EVENT = job_pb2.JobEvent.DESCRIPTOR.full_name
FILTER_LENGTH = 512
"""Characters of a text to filter by."""
TOO_LONG = f"must be text of at most {FILTER_LENGTH} characters"
OF_RUNS = "job-run-"
"""How the ids of steps begin. They can be foretold, and nobody is to take one before its run does."""
MOST_LABELS = 64
MOST_JOBS = 1000
"""Of one request."""
E = TypeVar("E", bound=StrEnum)

TYPES: Mapping[JobType, job_pb2.JobType.ValueType] = {
    JobType.SINGLE: job_pb2.JOB_TYPE_SINGLE,
    JobType.DISTRIBUTED: job_pb2.JOB_TYPE_DISTRIBUTED,
    JobType.WORKFLOW: job_pb2.JOB_TYPE_WORKFLOW,
}
STATES: Mapping[State, job_pb2.JobState.ValueType] = {
    state: job_pb2.JobState.Value(f"JOB_STATE_{state.name}") for state in State
}
TASK_STATES: Mapping[TaskState, job_pb2.TaskState.ValueType] = {
    state: job_pb2.TaskState.Value(f"TASK_STATE_{state.name}") for state in TaskState
}


def job_message(job: Job, counts: Counts | None = None) -> job_pb2.Job:
    """The message of a job; its roles are told if it is given how many replicas stand where."""
    life = job.life
    return job_pb2.Job(
        id=job.id,
        spec=spec_message(job.spec),
        type=TYPES[job.type],
        owner=job.owner,
        owner_since=_stamp(job.owner_since),
        state=STATES[life.state],
        message=life.message,
        notes=job.notes,
        queue=job.queue,
        cluster=life.grant.cluster if life.grant else "",
        attempt=life.attempt,
        retries=life.retries,
        resources=resources_pb2.Resources(amounts=job.resources),
        accept_time=_stamp(life.accept_time),
        start_time=_stamp(life.start_time),
        finish_time=_stamp(life.finish_time),
        not_before=_stamp(life.not_before),
        roles=None if counts is None else _roles(job, counts),
        version=job.version,
        etag=job.etag,
    )


def owner_of(message: job_pb2.Job) -> Owner:
    """Whose job a message tells of."""
    since = message.owner_since.ToDatetime(UTC) if message.HasField("owner_since") else None
    return Owner(message.owner, since)


def taken(job: Job) -> job_pb2.JobResult:
    return job_pb2.JobResult(job=job_message(job))


def refused(problem: Problem) -> job_pb2.JobResult:
    return job_pb2.JobResult(code=problem.code, reason=problem.reason, message=problem.message)


def drafts_of(request: job_pb2.CreateJobsRequest, caller: Principal) -> Sequence[Draft]:
    """The jobs that somebody asks for. InvalidArgument if there are none, too many, or two of one id."""
    ids = [job.spec.id for job in request.jobs if job.spec.id]
    if not 0 < len(request.jobs) <= MOST_JOBS:
        raise InvalidArgument.of(Violation("jobs", f"must be 1 to {MOST_JOBS} jobs"))
    if len(ids) != len(set(ids)):
        raise InvalidArgument.of(Violation("jobs", "has two jobs of one id"))
    if len(request.owners) not in (0, len(request.jobs)):
        raise InvalidArgument.of(Violation("owners", "must be as many as there are jobs, or none"))
    parts = [part_of(owner, caller) for owner in request.owners] or [None] * len(request.jobs)
    if len({part.key for part in parts if part}) != sum(part is not None for part in parts):
        raise InvalidArgument.of(Violation("owners", "has two of one key"))
    return [draft_of(job, part) for job, part in zip(request.jobs, parts, strict=True)]


def task_message(task: Task) -> job_pb2.Task:
    key = task.key
    message = job_pb2.Task(
        job_id=key.job,
        attempt=key.attempt,
        role=ROLES[Role(key.role)],
        index=key.index,
        restarts=key.restart,
        state=TASK_STATES[task.state],
        message=task.message,
        node=task.machine,
        signal=task.signal or 0,
        accelerators=task.accelerators,
        start_time=_stamp(task.start_time),
        finish_time=_stamp(task.finish_time),
    )
    if task.status is not None:
        message.exit_status = task.status
    return message


def happening_message(happening: Happening) -> job_pb2.Happening:
    return job_pb2.Happening(
        number=happening.number,
        time=_stamp(happening.time),
        attempt=happening.attempt,
        state=STATES[happening.state],
        what=happening.what,
        message=happening.message,
        role=ROLES[Role(happening.role)] if happening.role else spec_pb2.ROLE_UNSPECIFIED,
        index=happening.index,
    )


def draft_of(message: job_pb2.Job, part: Part | None = None) -> Draft:
    """The job that somebody asks for, right or wrong."""
    wrong = list(spec_violations(message.spec))
    job_type = _ours(message.type, TYPES)
    if message.type and job_type is None:
        wrong.append(Violation("type", "is none that this server knows"))
    if part is None and message.spec.id.startswith(OF_RUNS):
        wrong.append(Violation("spec.id", f"begins with {OF_RUNS!r}, as only the ids of steps of runs do"))
    return Draft(given_spec(message.spec), job_type, message.owner, part, wrong)


def part_of(owner: job_pb2.JobOwner, caller: Principal) -> Part | None:
    """What a job is part of. Raises PermissionDenied if the caller is no service, and InvalidArgument."""
    if not owner.key:
        return None
    if wrong := [field for field in ("key", "scope") if not _is_text(getattr(owner, field))]:
        raise InvalidArgument.of(*(Violation(f"owner.{field}", TOO_LONG) for field in wrong))
    if not caller.root and not caller.acting_service:
        raise PermissionDenied("only services make jobs that are part of something; leave `owner` empty")
    since = time_of("owner.user_since", owner.user_since) if owner.HasField("user_since") else None
    return Part(owner.key, owner.scope, owner.epoch, since)


def job_filter(request: job_pb2.ListJobsRequest) -> JobFilter:
    """The jobs to list. InvalidArgument names each field that cannot be."""
    if wrong := tuple(_filter_violations(request)):
        raise InvalidArgument.of(*wrong)
    updated, started = request.updated_since, request.started_since
    return JobFilter(
        owner=request.owner,
        queue=request.queue,
        states=frozenset(state for state, number in STATES.items() if number in request.states),
        labels=dict(request.labels),
        updated_since=time_of("updated_since", updated) if request.HasField("updated_since") else None,
        started_since=time_of("started_since", started) if request.HasField("started_since") else None,
        name_prefix=request.name_prefix,
    )


def edit_of(request: job_pb2.UpdateJobRequest) -> Edit:
    """What is to change. InvalidArgument names each field that cannot be."""
    if wrong := tuple(_edit_violations(request)):
        raise InvalidArgument.of(*wrong)
    return Edit(
        priority=_ours(request.priority, PRIORITIES),
        labels=dict(request.labels),
        labels_removed=tuple(request.labels_removed),
        annotations=dict(request.annotations),
        annotations_removed=tuple(request.annotations_removed),
    )


def require_watchable(request: job_pb2.WatchJobsRequest) -> None:
    """Raises InvalidArgument, which names each field that cannot be."""
    wrong = [field for field in ("queue", "id") if not _is_text(getattr(request, field))]
    if wrong:
        raise InvalidArgument.of(*(Violation(field, TOO_LONG) for field in wrong))


def existing(job: Job) -> job_pb2.JobEvent:
    """How a job stands as a watch begins."""
    return job_pb2.JobEvent(kind=event_pb2.CHANGE_KIND_EXISTING, job=job_message(job))


def encode(event: object) -> Fact:
    """The event, ready to be stored; TypeError if it is none of this service."""
    if not isinstance(event, JobChanged):
        raise TypeError(f"{type(event).__name__} is no event of this service")
    job, kind = event.job, event_pb2.CHANGE_KIND_UPDATED
    if event.forgotten:
        kind = event_pb2.CHANGE_KIND_DELETED
    elif event.born:
        kind = event_pb2.CHANGE_KIND_CREATED
    payload = job_pb2.JobEvent(kind=kind, job=job_message(job))
    return Fact(JOB_EVENT, f"job/{job.id}", job.version, payload.SerializeToString())


def _roles(job: Job, counts: Counts) -> Iterator[job_pb2.RoleStatus]:
    wanted = job.life.replicas
    for member in job.spec.crew:
        yield job_pb2.RoleStatus(
            role=ROLES[member.role],
            replicas=wanted.get(member.role, member.replicas),
            running=counts.get((member.role, TaskState.RUNNING), 0),
            succeeded=counts.get((member.role, TaskState.SUCCEEDED), 0),
            failed=sum(counts.get((member.role, state), 0) for state in ENDED - {TaskState.SUCCEEDED}),
        )


def _edit_violations(request: job_pb2.UpdateJobRequest) -> Iterator[Violation]:
    if request.priority and _ours(request.priority, PRIORITIES) is None:
        yield Violation("priority", "is none that this server knows")
    yield from fields.label_pairs("labels", request.labels)
    yield from fields.annotation_pairs("annotations", request.annotations)


def _filter_violations(request: job_pb2.ListJobsRequest) -> Iterator[Violation]:
    for field in ("queue", "owner", "name_prefix"):
        if not _is_text(getattr(request, field)):
            yield Violation(field, TOO_LONG)
    if any(state not in STATES.values() for state in request.states):
        yield Violation("states", "has one that this server does not know")
    if len(request.labels) > MOST_LABELS or not all(map(_is_text, (*request.labels, *request.labels.values()))):
        yield Violation("labels", f"must be at most {MOST_LABELS} texts")


def _ours(value: int, known: Mapping[E, int]) -> E | None:
    """What a number of the contract stands for; None if it is unset or not known."""
    return next((ours for ours, number in known.items() if number == value), None)


def _is_text(text: str) -> bool:
    return len(text) <= FILTER_LENGTH and "\0" not in text


def _stamp(time: datetime | None) -> Timestamp | None:
    return timestamp(time) if time else None
