"""What is written into rows, and what JSON in them says."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pf_pipeline.artifacts.domain import (
    ArtifactEvent,
    CachedResult,
    CacheKey,
    Claim,
    Output,
    WorkKey,
)
from pf_pipeline.documents.model import Value


def event_values(event: ArtifactEvent) -> Sequence[object]:
    """In the order in which `record` names them."""
    return (
        event.key.run,
        event.key.node,
        event.use,
        event.artifact,
        event.step,
        event.filesystem_id,
        event.filesystem,
        event.owner,
        json.dumps(event.paths),
        event.meta,
        event.digest,
        event.job,
        event.cached,
        event.run_time,
        event.owner_since,
    )


def result_values(result: CachedResult) -> Sequence[object]:
    """In the order in which `add_results` names them."""
    outputs = {name: [output.path, output.digest] for name, output in result.outputs.items()}
    return (
        *work_values(WorkKey(result.cache_key, result.files)),
        result.made_by.run,
        result.made_by.node,
        result.component,
        result.job,
        result.filesystem,
        result.max_expired_time,
        json.dumps(outputs),
        json.dumps(dict(result.results)),
        result.explanation,
    )


def key_values(key: CacheKey) -> Sequence[object]:
    shelf = key.shelf
    return (shelf.owner, shelf.owner_since, shelf.filesystem_id, shelf.origin, key.step)


def work_values(work: WorkKey) -> Sequence[object]:
    return (*key_values(work.cache_key), work.files)


def claim_values(claim: Claim) -> Sequence[object]:
    return (*work_values(claim.work), claim.by.run, claim.by.node)


def results_of(text: str) -> Mapping[str, Value]:
    """Small results; lists are tuples."""
    return {name: _value(each) for name, each in json.loads(text).items()}


def outputs_of(text: str) -> Mapping[str, Output]:
    return {name: Output(path, digest) for name, (path, digest) in json.loads(text).items()}


def _value(found: Value | list[Value]) -> Value:
    return tuple(map(_value, found)) if isinstance(found, (list, tuple)) else found
