"""Runs in the words of the original, for its interface and for the command line."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from paddleflow.models.nodes import NodeKind, RunNode
from paddleflow.models.runs import FailureStrategy, Run
from paddleflow.original import original_time

View: TypeAlias = dict[str, Any]
"""What is told of one node; of a DAG also the views of all that it consists of."""

POST_PROCESS = "post_process/"


def runtime(run_id: str, nodes: Iterable[RunNode]) -> dict[str, list[View]]:
    """Views of the nodes by the names of components: one for each iteration."""
    children: defaultdict[str, list[RunNode]] = defaultdict(list)
    for node in nodes:
        if node.kind in (NodeKind.STEP, NodeKind.DAG):
            children[node.parent].append(node)
    return _level(run_id, "", children)


def post_process(run_id: str, nodes: Iterable[RunNode]) -> dict[str, View]:
    """Views of what runs at the end: the post-process step by its name, exit handlers by their paths."""
    last = [node for node in nodes if node.kind in (NodeKind.POST_PROCESS, NodeKind.EXIT_HANDLER)]
    return {node.path.removeprefix(POST_PROCESS): step_view(run_id, node) for node in last}


def step_view(run_id: str, node: RunNode) -> View:
    return {
        "name": node.job_name or _runtime_name(run_id, node),
        "type": "step",
        "stepName": node.name,
        "jobID": node.job_id,
        "parentDagID": _dag_id(run_id, node.parent),
        "deps": ",".join(node.deps),
        "status": str(node.state),
        "startTime": original_time(node.start_time),
        "endTime": original_time(node.finish_time),
        "command": node.command,
        "parameters": dict(node.parameters),
        "env": dict(node.env),
        "dockerEnv": node.docker_env,
        "extraFS": [_mount(each.name, each.mount_path, each.sub_path, each.read_only) for each in node.extra_fs],
        "artifacts": _artifacts(node),
        "cache": {
            "enable": node.cache.enable,
            "maxExpiredTime": str(node.cache.max_expired_time),
            "fsScope": [{"name": each.name, "path": each.path} for each in node.cache.fs_scope],
        },
        "cacheRunID": node.cache_run_id,
        "cacheJobID": node.cache_job_id,
        "jobMessage": node.message,
    }


def dag_view(run_id: str, node: RunNode, entry_points: Mapping[str, Sequence[View]]) -> View:
    return {
        "dagID": _dag_id(run_id, node.path),
        "name": _runtime_name(run_id, node),
        "type": "dag",
        "dagName": node.name,
        "parentDagID": _dag_id(run_id, node.parent),
        "deps": ",".join(node.deps),
        "status": str(node.state),
        "startTime": original_time(node.start_time),
        "endTime": original_time(node.finish_time),
        "parameters": dict(node.parameters),
        "artifacts": _artifacts(node),
        "message": node.message,
        "entryPoints": entry_points,
    }


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run goes by, whether it was asked for or stands in the document."""

    docker_env: str
    fs_options: Mapping[str, Any]
    failure_options: Mapping[str, str]


def settings_of(run: Run) -> Settings:
    """The settings of a run, with the names that JSON has for them."""
    import yaml  # noqa: PLC0415 -- few commands need it

    told = yaml.safe_load(run.document) if run.document else None
    document = _mapping(told)
    mounts, failure = _mapping(document.get("fs_options")), _mapping(document.get("failure_options"))
    main = _told_mount(mounts.get("main_fs"))
    return Settings(
        docker_env=run.docker_env or str(document.get("docker_env") or ""),
        fs_options={
            "mainFS": {**main, "name": main["name"] or run.filesystem},
            "extraFS": [_told_mount(each) for each in mounts.get("extra_fs") or ()],
        },
        failure_options={"strategy": str(run.failure_strategy or failure.get("strategy") or FailureStrategy.FAIL_FAST)},
    )


def _level(run_id: str, parent: str, children: Mapping[str, Sequence[RunNode]]) -> dict[str, list[View]]:
    views: dict[str, list[View]] = {}
    for node in children.get(parent, ()):
        of_dag = node.kind is NodeKind.DAG
        view = dag_view(run_id, node, _level(run_id, node.path, children)) if of_dag else step_view(run_id, node)
        views.setdefault(node.name, []).append(view)
    return views


def _runtime_name(run_id: str, node: RunNode) -> str:
    """The first iteration has no number."""
    return f"{run_id}-{node.name}-{node.iteration}" if node.iteration else f"{run_id}-{node.name}"


def _dag_id(run_id: str, path: str) -> str:
    """What the original calls a DAG of a run; empty for the run itself."""
    return f"dag-{run_id}-{hashlib.sha256(path.encode()).hexdigest()[:16]}" if path else ""


def _artifacts(node: RunNode) -> dict[str, dict[str, str]]:
    return {"input": dict(node.inputs), "output": dict(node.outputs)}


def _mount(name: str, mount_path: str, sub_path: str, read_only: bool) -> dict[str, Any]:
    return {"name": name, "mountPath": mount_path, "subPath": sub_path, "readOnly": read_only}


def _told_mount(told: object) -> dict[str, Any]:
    mount = _mapping(told)
    name, mount_path, sub_path = (str(mount.get(key) or "") for key in ("name", "mount_path", "sub_path"))
    return _mount(name, mount_path, sub_path, bool(mount.get("read_only")))


def _mapping(told: object) -> Mapping[str, Any]:
    return told if isinstance(told, Mapping) else {}
