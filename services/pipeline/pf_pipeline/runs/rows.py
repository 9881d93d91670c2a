"""Runs and nodes as JSON, in which they are kept beside the few columns that they are found by."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from pf_pipeline.documents.model import Strategy, Value
from pf_pipeline.plans.domain import Kind
from pf_pipeline.runs.domain import (
    CacheTrace,
    Executor,
    Node,
    NodeWork,
    Order,
    RunLife,
    Source,
    StepCounts,
    Waiting,
)
from pf_pipeline.runs.states import NodeState, RunState, Stop

Fields = dict[str, Any]


def told(thing: Node | Order | RunLife) -> str:
    """The JSON of a thing."""
    return msgspec.json.encode(thing).decode()


def value_of(found: Any) -> Value:  # noqa: ANN401 -- JSON has no types
    """A value of a parameter; lists are tuples."""
    return tuple(value_of(item) for item in found) if isinstance(found, list) else found


def values_of(found: Mapping[str, Any]) -> Mapping[str, Value]:
    return {name: value_of(value) for name, value in found.items()}


def node_of(found: Fields) -> Node:
    """The node that was kept."""
    fields = {
        **found,
        "kind": Kind(found["kind"]),
        "state": NodeState(found["state"]),
        "waiting": Waiting(found["waiting"]),
        "waiting_on": tuple(found["waiting_on"]),
        "deps": tuple(found["deps"]),
        "work": _work_of(found["work"]),
        "results": values_of(found["results"]),
        "cache": CacheTrace(**found["cache"]),
        **_times(found, "start_time", "finish_time", "not_before"),
    }
    return Node(**fields)


def order_of(found: Fields) -> Order:
    """What was asked for."""
    fields = {
        **found,
        "source": Source(**found["source"]),
        "disabled": tuple(found["disabled"]),
        "strategy": Strategy(found["strategy"]) if found["strategy"] else None,
        "executor": Executor(found["executor"]),
        "fresh": tuple(found["fresh"]),
        "notify": tuple(found.get("notify", ())),
        **_times(found, "scheduled_time"),
    }
    return Order(**fields)


def life_of(found: Fields) -> RunLife:
    """Where a run stands."""
    fields = {
        **found,
        "state": RunState(found["state"]),
        "stop": Stop(found["stop"]),
        "steps": StepCounts(**found["steps"]),
        **_times(found, "create_time", "start_time", "finish_time"),
    }
    return RunLife(**fields)


def _work_of(found: Fields) -> NodeWork:
    argument = found["loop_argument"]
    fields = {
        **found,
        "parameters": values_of(found["parameters"]),
        "loop_argument": None if argument is None else value_of(argument),
    }
    return NodeWork(**fields)


def _times(found: Fields, *names: str) -> Mapping[str, datetime | None]:
    return {name: datetime.fromisoformat(found[name]) if found[name] else None for name in names}
