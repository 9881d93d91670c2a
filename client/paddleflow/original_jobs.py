"""Jobs in the words of the original, for its interface and for the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paddleflow.models.job_specs import JobSpec, Member, Role
from paddleflow.models.jobs import Job, JobType, RoleStatus, Task
from paddleflow.original import Json, original_time
from paddleflow.quantity import format_resources

FIELDS: Mapping[str, str] = {
    "id": "job id",
    "name": "job name",
    "queue": "queue",
    "status": "status",
    "acceptTime": "accept time",
    "startTime": "start time",
    "finishTime": "finish time",
    "user": "user",
    "message": "message",
    "labels": "labels",
    "annotations": "annotations",
    "priority": "priority",
    "flavour": "flavour",
    "limitFlavour": "limit flavour",
    "fileSystem": "file system",
    "extraFileSystems": "extra file systems",
    "image": "image",
    "env": "env",
    "command": "command",
    "args": "args",
    "port": "port",
    "extensionTemplate": "extension template",
    "framework": "framework",
    "members": "members",
    "runtime": "runtime",
    "distributedRuntime": "distributed runtime",
    "workflowRuntime": "workflow runtime",
    "type": "type",
    "cluster": "cluster name",
    "attempt": "attempt",
    "retries": "retries",
    "resources": "resources",
    "replicas": "replicas",
    "notes": "notes",
    "notBefore": "not before",
    "retry": "retry",
    "limits": "limits",
    "etag": "etag",
}
"""What can be told of a job by the names of its fields, each with its heading."""
RUNTIMES = frozenset({"runtime", "distributedRuntime", "workflowRuntime"})
"""Fields that are only known with the replicas."""


def original_job(job: Job, tasks: Sequence[Task] = ()) -> dict[str, Json]:
    """All that can be told of a job, by the names of `FIELDS`."""
    spec = spec_document(job.spec)
    return {
        **{field: spec.get(field) for field in FIELDS},
        "id": job.id,
        "name": job.spec.name,
        "queue": job.queue,
        "status": str(job.state),
        "acceptTime": original_time(job.accept_time),
        "startTime": original_time(job.start_time),
        "finishTime": original_time(job.finish_time),
        "user": job.owner,
        "message": job.message,
        "priority": str(job.spec.priority),
        "fileSystem": spec.get("fs"),
        "extraFileSystems": spec.get("extraFS"),
        "port": job.spec.port,
        "type": str(job.type),
        "cluster": job.cluster,
        "attempt": job.attempt,
        "retries": job.retries,
        "resources": format_resources(job.resources),
        "replicas": {str(role.role): _replicas(job, role) for role in job.roles},
        "notes": list(job.notes),
        "notBefore": original_time(job.not_before),
        "etag": job.etag,
        **_runtimes(job, tasks),
    }


def spec_document(spec: JobSpec) -> dict[str, Any]:
    """The spec as the document that says the same."""
    from paddleflow.jobs.render import document  # noqa: PLC0415 -- loads protobuf
    from paddleflow.wire.job_specs import spec_to_wire  # noqa: PLC0415 -- as above

    return document(spec_to_wire(spec))


def bounds(job: Job, role: Role) -> str:
    """Between how many and how many replicas of a role there are; empty if there are always as many."""
    return next(
        (f"{each.replicas}-{each.max_replicas}" for each in job.spec.members if _comes_and_goes(each, role)), ""
    )


def _comes_and_goes(member: Member, role: Role) -> bool:
    return member.role is role and member.elastic


def _replicas(job: Job, role: RoleStatus) -> str:
    """How many run, or ended well, of how many."""
    of = bounds(job, role.role)
    return f"{role.running + role.succeeded}/{role.replicas}{f' ({of})' if of else ''}"


def _runtimes(job: Job, tasks: Sequence[Task]) -> dict[str, Json]:
    told: list[Json] = [_runtime(task) for task in tasks]
    single = job.type is not JobType.DISTRIBUTED
    together: Json = {"name": job.spec.name, "status": str(job.state), "runtimes": told}
    return {
        "runtime": told[0] if single and told else None,
        "distributedRuntime": None if single or not told else together,
        "workflowRuntime": None,
    }


def _runtime(task: Task) -> dict[str, Json]:
    return {
        "id": f"{task.job_id}/{task.attempt}/{task.role}/{task.index}",
        "name": f"{task.role}-{task.index}",
        "status": str(task.state),
        "nodeName": task.node,
        "role": str(task.role),
        "index": task.index,
        "acceleratorCards": [str(each) for each in task.accelerators],
    }
