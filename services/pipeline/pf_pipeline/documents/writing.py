"""Writes documents as a person would: what is as it would be anyway is left out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from typing import Any

from paddleflow.documents.writing import to_yaml
from pf_pipeline.documents.model import (
    Approval,
    Cache,
    Component,
    Dag,
    Document,
    HandlerWhen,
    Mount,
    Node,
    Parameter,
    Reference,
    Repeated,
    Result,
    Retry,
    Step,
    Strategy,
)
from pf_pipeline.documents.reading import PARALLELISM

_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


def yaml_of(document: Document) -> str:
    """The document in YAML; read again, it says the same."""
    return to_yaml(said(document))


def digest(document: Document) -> str:
    """SHA-256 of what a document means, in hexadecimal digits: no matter how it is written, and in which order."""
    same = replace(
        document,
        entry_points=_in_order(document.entry_points),
        components=_in_order(document.components),
        disabled=tuple(sorted(document.disabled)),
    )
    return sha256(json.dumps(said(same), sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _in_order(nodes: Mapping[str, Node]) -> dict[str, Node]:
    """With dependencies in one order: all must be over, whichever is named first."""
    return {name: _sorted(node) for name, node in nodes.items()}


def _sorted(node: Node) -> Node:
    deps = tuple(sorted(node.deps))
    if isinstance(node, Dag):
        return replace(node, deps=deps, children=_in_order(node.children))
    return replace(node, deps=deps)


def said(document: Document) -> dict[str, Any]:
    """What a document says, by the keys of YAML."""
    filesystems = {"main_fs": _mount(document.main_fs), "extra_fs": [_mount(each) for each in document.extra_fs]}
    is_usual = document.strategy is Strategy.FAIL_FAST
    return _told(
        {
            "name": document.name,
            "desc": document.description,
            "username": document.owner,
            "docker_env": document.docker_env,
            "parallelism": 0 if document.parallelism == PARALLELISM else document.parallelism,
            "env": dict(document.env),
            "entry_points": {name: _node(node) for name, node in document.entry_points.items()},
            "components": {name: _node(node) for name, node in document.components.items()},
            "cache": _cache(document.cache),
            "disabled": ",".join(document.disabled),
            "failure_options": {} if is_usual else {"strategy": str(document.strategy)},
            "post_process": {name: _node(step) for name, step in document.post_process.items()},
            "on_exit": {
                name: _node(handler.step) | _told({"when": _unless(handler.when, HandlerWhen.ALWAYS)})
                for name, handler in document.on_exit.items()
            },
            "fs_options": _told(filesystems),
            "semaphores": dict(document.semaphores),
            "notify": [dict(each) for each in document.notify],
        }
    )


def _node(node: Node) -> dict[str, Any]:
    if isinstance(node, Reference):
        return {"reference": {"component": node.component}, **_common(node, {})}
    if isinstance(node, Dag):
        return {
            **_repeated(node, dict(node.outputs)),
            "entry_points": {name: _node(child) for name, child in node.children.items()},
        }
    return _told({"command": node.command, "docker_env": node.docker_env}) | _repeated(node, node.outputs) | _step(node)


def _step(step: Step) -> dict[str, Any]:
    return _told(
        {
            "env": dict(step.env),
            "cache": _cache(step.cache),
            "extra_fs": [_mount(each) for each in step.extra_fs],
            "retry": _retry(step.retry),
            "timeout": _time(step.timeout),
            "pending_timeout": _time(step.pending_timeout),
            "semaphores": list(step.semaphores),
            "results": {name: _result(result) for name, result in step.results.items()},
            "job": dict(step.job),
        }
    ) | ({"approval": _approval(step.approval)} if step.approval else {})


def _common(node: Component, outputs: object) -> dict[str, Any]:
    return _told(
        {
            "deps": ",".join(node.deps),
            "parameters": {name: _parameter(parameter) for name, parameter in node.parameters.items()},
            "artifacts": _told({"input": dict(node.inputs), "output": outputs}),
        }
    )


def _repeated(node: Repeated, outputs: object) -> dict[str, Any]:
    loop = {} if node.loop is None else {"loop_argument": node.loop}
    told = _told({"condition": node.condition, "max_parallel": node.max_parallel})
    return _common(node, outputs) | told | loop


def _parameter(parameter: Parameter) -> object:
    if parameter.kind is None:
        return parameter.value
    default = {} if parameter.value is None else {"default": parameter.value}
    return {"type": str(parameter.kind), **default}


def _result(result: Result) -> object:
    if result.default is None:
        return str(result.kind)
    return {"type": str(result.kind), "default": result.default}


def _mount(mount: Mount | None) -> dict[str, Any]:
    if mount is None:
        return {}
    told = {"mount_path": mount.mount_path, "sub_path": mount.sub_path, "read_only": mount.read_only}
    return {"name": mount.name, **_told(told)}


def _cache(cache: Cache) -> dict[str, Any]:
    told = {
        "enable": cache.enable,
        "max_expired_time": cache.max_expired_time,
        "fs_scope": [{"name": scope.name, "path": scope.path} for scope in cache.fs_scope] or None,
        "version": cache.version,
        "ignore": list(cache.ignore) or None,
        "mode": cache.mode and str(cache.mode),
        "share": cache.share and str(cache.share),
    }
    return {name: value for name, value in told.items() if value is not None}


def _retry(retry: Retry | None) -> dict[str, Any]:
    if retry is None:
        return {}
    usual = Retry(0)
    told = {
        "backoff": "" if retry.backoff == usual.backoff else _time(retry.backoff),
        "max_backoff": "" if retry.max_backoff == usual.max_backoff else _time(retry.max_backoff),
        "jitter": retry.jitter,
        "not_on": list(retry.not_on),
    }
    return {"limit": retry.limit, **_told(told)}


def _approval(approval: Approval) -> dict[str, Any]:
    return _told({"users": list(approval.users), "message": approval.message, "timeout": _time(approval.timeout)})


def _time(time: timedelta | None) -> str:
    """In the largest unit of which it is a whole number; what is less than a second, as a decimal."""
    if time is None:
        return ""
    if time.microseconds:
        return f"{time // timedelta(seconds=1)}.{time.microseconds:06}".rstrip("0") + "s"
    seconds = time // timedelta(seconds=1)
    return next(f"{seconds // size}{unit}" for unit, size in _UNITS if seconds % size == 0)


def _unless(word: HandlerWhen, usual: HandlerWhen) -> str:
    return "" if word is usual else str(word)


def _told(told: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is empty: that means the same."""
    return {name: value for name, value in told.items() if value}
