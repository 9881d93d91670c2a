"""What the compatible interface returns about runs, with the attributes of the original."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from paddleflow.models.artifacts import ArtifactEvent, CachedResult
from paddleflow.models.nodes import RunNode
from paddleflow.models.runs import Run
from paddleflow.original import original_time
from paddleflow.original_runs import View, post_process, runtime, settings_of


@dataclass(frozen=True, slots=True)
class JobInfo:
    """A step of a run, or one iteration of it."""

    name: str
    deps: str
    parameters: Mapping[str, Any]
    command: str
    env: Mapping[str, str]
    status: str
    start_time: str
    end_time: str
    docker_env: str
    job_id: str
    type: str
    step_name: str
    parent_dag_id: str
    extra_fs: list[Mapping[str, Any]]
    artifacts: Mapping[str, Mapping[str, str]]
    cache: Mapping[str, Any]
    job_message: str
    cache_run_id: str
    cache_job_id: str
    view: View
    """The same as `get_dict` gives it."""

    @classmethod
    def of(cls, view: View) -> JobInfo:
        return cls(**{name: view[key] for name, key in _JOB.items()}, view=view)

    def get_dict(self) -> View:
        return self.view


@dataclass(frozen=True, slots=True)
class DagInfo:
    """A DAG of a run, or one iteration of it."""

    dag_id: str
    name: str
    type: str
    dag_name: str
    parent_dag_id: str
    deps: str
    parameters: Mapping[str, Any]
    artifacts: Mapping[str, Mapping[str, str]]
    start_time: str
    end_time: str
    status: str
    message: str
    entry_points: Mapping[str, list[JobInfo | DagInfo]]
    view: View
    """The same as `get_dict` gives it."""

    @classmethod
    def of(cls, view: View) -> DagInfo:
        fields = {name: view[key] for name, key in _DAG.items()}
        return cls(**fields, entry_points=components(view["entryPoints"]), view=view)

    def get_dict(self) -> View:
        return self.view


_BOTH = {
    "name": "name",
    "type": "type",
    "deps": "deps",
    "parameters": "parameters",
    "artifacts": "artifacts",
    "status": "status",
    "start_time": "startTime",
    "end_time": "endTime",
    "parent_dag_id": "parentDagID",
}
_DAG = {**_BOTH, "dag_id": "dagID", "dag_name": "dagName", "message": "message"}
_JOB = {
    **_BOTH,
    "step_name": "stepName",
    "job_id": "jobID",
    "command": "command",
    "env": "env",
    "docker_env": "dockerEnv",
    "extra_fs": "extraFS",
    "cache": "cache",
    "job_message": "jobMessage",
    "cache_run_id": "cacheRunID",
    "cache_job_id": "cacheJobID",
}


def components(views: Mapping[str, list[View]]) -> dict[str, list[JobInfo | DagInfo]]:
    return {
        name: [DagInfo.of(each) if "entryPoints" in each else JobInfo.of(each) for each in iterations]
        for name, iterations in views.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """A run. What only `show_run` tells is None in a list."""

    run_id: str
    fs_name: str
    username: str
    status: str
    name: str
    description: str
    parameters: Mapping[str, Any] | None = None
    run_yaml: str | None = None
    runtime: Mapping[str, list[JobInfo | DagInfo]] | None = None
    post_process: Mapping[str, JobInfo] | None = None
    docker_env: str | None = None
    update_time: str
    source: str
    run_msg: str
    schedule_id: str
    scheduled_time: str
    fs_options: Mapping[str, Any] | None = None
    failure_options: Mapping[str, str] | None = None
    disabled: str | None = None
    run_cached_ids: str | None = None
    create_time: str
    activate_time: str

    @classmethod
    def of(cls, run: Run) -> RunInfo:
        return cls(
            run_id=run.id,
            fs_name=run.filesystem,
            username=run.owner,
            status=str(run.state),
            name=run.name,
            description=run.description,
            update_time=original_time(run.update_time),
            source=run.origin,
            run_msg=run.message,
            schedule_id=run.schedule_id,
            scheduled_time=original_time(run.scheduled_time),
            create_time=original_time(run.create_time),
            activate_time=original_time(run.start_time),
        )

    @classmethod
    def whole(cls, run: Run, nodes: Iterable[RunNode]) -> RunInfo:
        known, settings = list(nodes), settings_of(run)
        return replace(
            cls.of(run),
            parameters=run.parameters,
            run_yaml=run.document,
            runtime=components(runtime(run.id, known)),
            post_process={name: JobInfo.of(each) for name, each in post_process(run.id, known).items()},
            docker_env=settings.docker_env,
            fs_options=settings.fs_options,
            failure_options=settings.failure_options,
            disabled=",".join(run.disabled),
            run_cached_ids=",".join(run.used_by),
        )


@dataclass(frozen=True, slots=True)
class RunCacheInfo:
    """A result that may be used again."""

    cache_id: str
    first_fp: str
    second_fp: str
    """Always empty: one digest says whether a step is the same."""
    run_id: str
    source: str
    job_id: str
    fs_name: str
    username: str
    expired_time: str
    strategy: str
    custom: str
    create_time: str
    update_time: str

    @classmethod
    def of(cls, result: CachedResult) -> RunCacheInfo:
        return cls(
            cache_id=result.id,
            first_fp=result.key,
            second_fp="",
            run_id=result.run_id,
            source=result.origin,
            job_id=result.job_id,
            fs_name=result.filesystem,
            username=result.owner,
            expired_time=str(result.max_expired_time),
            strategy="conservative",
            custom="",
            create_time=original_time(result.create_time),
            update_time=original_time(result.update_time),
        )


@dataclass(frozen=True, slots=True)
class ArtifactInfo:
    """An artifact that a step read or wrote."""

    run_id: str
    fs_name: str
    username: str
    artifact_path: str
    type: str
    step: str
    artifact_name: str
    meta: str
    create_time: str
    update_time: str

    @classmethod
    def of(cls, event: ArtifactEvent) -> ArtifactInfo:
        return cls(
            run_id=event.run_id,
            fs_name=event.filesystem,
            username=event.owner,
            artifact_path=event.artifact_path,
            type=str(event.use),
            step=event.step,
            artifact_name=event.artifact,
            meta=event.meta,
            create_time=original_time(event.create_time),
            update_time=original_time(event.update_time),
        )
