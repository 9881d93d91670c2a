"""Where runs and their nodes stand: two tables, and nothing that happens outside of them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class RunState(StrEnum):
    """Where a run stands."""

    INITIATING = "initiating"
    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TERMINATING = "terminating"
    TERMINATED = "terminated"
    SKIPPED = "skipped"


class NodeState(StrEnum):
    """Where a node stands."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TERMINATING = "terminating"
    TERMINATED = "terminated"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


class Stop(StrEnum):
    """Whether somebody wants a run to end."""

    NO = "no"
    STOP = "stop"
    """What runs is to end; what runs at the end of a run still does."""
    FORCE = "force"
    """Everything is to end."""


RUN_OVER = frozenset({RunState.SUCCEEDED, RunState.FAILED, RunState.TERMINATED, RunState.SKIPPED})
"""States that are never left."""
RUN_TRANSITIONS: Mapping[RunState, frozenset[RunState]] = {
    RunState.INITIATING: frozenset(RunState) - {RunState.INITIATING},
    RunState.PENDING: frozenset({RunState.RUNNING, RunState.TERMINATING}) | RUN_OVER - {RunState.SKIPPED},
    RunState.RUNNING: frozenset({RunState.TERMINATING, RunState.SUCCEEDED, RunState.FAILED, RunState.TERMINATED}),
    RunState.TERMINATING: frozenset({RunState.SUCCEEDED, RunState.FAILED, RunState.TERMINATED}),
    **{state: frozenset() for state in RUN_OVER},
}

NODE_OVER = frozenset(
    {NodeState.SUCCEEDED, NodeState.FAILED, NodeState.TERMINATED, NodeState.CANCELLED, NodeState.SKIPPED}
)
"""States that are never left."""
NODE_GOOD = frozenset({NodeState.SUCCEEDED, NodeState.SKIPPED})
"""States after which those that depend on a node go on."""
NODE_TRANSITIONS: Mapping[NodeState, frozenset[NodeState]] = {
    NodeState.PENDING: frozenset(NodeState) - {NodeState.PENDING},
    # Back to pending: a try has failed, and there is another one.
    NodeState.RUNNING: frozenset(NodeState) - {NodeState.RUNNING, NodeState.SKIPPED},
    NodeState.TERMINATING: NODE_OVER - {NodeState.SKIPPED},
    **{state: frozenset() for state in NODE_OVER},
}
