"""A job as the compatible interface returns it, with the attributes of the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paddleflow.models.jobs import Job, Task
from paddleflow.original_jobs import original_job


@dataclass(frozen=True, slots=True)
class JobInfo:
    """A job. What is a mapping or a list has the names of documents."""

    job_id: str
    job_name: str
    labels: Mapping[str, str] | None
    annotations: Mapping[str, str] | None
    username: str
    queue: str
    priority: str
    flavour: Mapping[str, Any] | None
    fs: Mapping[str, Any] | None
    extra_fs_list: Sequence[Mapping[str, Any]] | None
    image: str | None
    env: Mapping[str, str] | None
    command: str | None
    args_list: Sequence[str] | None
    port: int
    extension_template: Mapping[str, Any] | None
    framework: str | None
    member_list: Sequence[Mapping[str, Any]] | None
    status: str
    message: str
    accept_time: str
    start_time: str
    finish_time: str
    runtime: Mapping[str, Any] | None
    distributed_runtime: Mapping[str, Any] | None
    workflow_runtime: Mapping[str, Any] | None

    @classmethod
    def of(cls, job: Job, tasks: Sequence[Task] = ()) -> JobInfo:
        told: Mapping[str, Any] = original_job(job, tasks)
        return cls(
            job_id=told["id"],
            job_name=told["name"],
            labels=told["labels"],
            annotations=told["annotations"],
            username=told["user"],
            queue=told["queue"],
            priority=told["priority"],
            flavour=told["flavour"],
            fs=told["fileSystem"],
            extra_fs_list=told["extraFileSystems"],
            image=told["image"],
            env=told["env"],
            command=told["command"],
            args_list=told["args"],
            port=told["port"],
            extension_template=told["extensionTemplate"],
            framework=told["framework"],
            member_list=told["members"],
            status=told["status"],
            message=told["message"],
            accept_time=told["acceptTime"],
            start_time=told["startTime"],
            finish_time=told["finishTime"],
            runtime=told["runtime"],
            distributed_runtime=told["distributedRuntime"],
            workflow_runtime=told["workflowRuntime"],
        )
