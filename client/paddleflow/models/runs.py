"""Runs: executions of documents, and what happens in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypedDict

from paddleflow.models.nodes import NodeState
from paddleflow.models.pipelines import Source


class RunState(StrEnum):
    """Where a run stands."""

    UNSPECIFIED = ""
    INITIATING = "initiating"
    """Accepted; nobody has looked at it yet."""
    PENDING = "pending"
    """Taken up; no step has begun."""
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TERMINATING = "terminating"
    """Somebody stopped it; its jobs are about to end."""
    TERMINATED = "terminated"
    SKIPPED = "skipped"
    """Its schedule passed this time over."""

    @property
    def over(self) -> bool:
        """True if it is never left."""
        return self in OVER


OVER = (RunState.SUCCEEDED, RunState.FAILED, RunState.TERMINATED, RunState.SKIPPED)
"""States that are never left."""
ACTIVE = (RunState.INITIATING, RunState.PENDING, RunState.RUNNING, RunState.TERMINATING)
"""All others."""


class FailureStrategy(StrEnum):
    """What becomes of others when a node fails."""

    UNSPECIFIED = ""
    FAIL_FAST = "fail_fast"
    CONTINUE = "continue"


class Executor(StrEnum):
    """How steps are run."""

    UNSPECIFIED = ""
    """As jobs."""
    JOBS = "jobs"
    NOTHING = "nothing"
    """Not at all: each step succeeds at once. To try a document out."""


@dataclass(frozen=True, slots=True)
class StepCounts:
    """How many steps of a run stand where."""

    waiting: int = 0
    running: int = 0
    succeeded: int = 0
    """Those from the cache among them."""
    failed: int = 0
    skipped: int = 0
    cancelled: int = 0
    cached: int = 0

    @property
    def over(self) -> int:
        return self.succeeded + self.failed + self.skipped + self.cancelled

    @property
    def all(self) -> int:
        return self.over + self.waiting + self.running


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One execution of a document. All of it is told by the server."""

    id: str
    name: str = ""
    description: str = ""
    owner: str = ""
    state: RunState = RunState.UNSPECIFIED
    message: str = ""
    source: Source = field(default_factory=Source)
    origin: str = ""
    """What its results are kept under: the path of its file, ``<pipeline>-<version>``, or the MD5 of its text."""
    document: str = ""
    """As it runs, as YAML; told by `get`."""
    parameters: Mapping[str, object] = field(default_factory=dict)
    """Those that were given with the request."""
    filesystem: str = ""
    """The main one; empty if there is none."""
    docker_env: str = ""
    disabled: Sequence[str] = ()
    failure_strategy: FailureStrategy = FailureStrategy.UNSPECIFIED
    schedule_id: str = ""
    scheduled_time: datetime | None = None
    retry_of: str = ""
    """The run that it tries again."""
    used_by: Sequence[str] = ()
    """Runs that took results from it; told by `get`."""
    create_time: datetime | None = None
    start_time: datetime | None = None
    finish_time: datetime | None = None
    update_time: datetime | None = None
    steps: StepCounts = field(default_factory=StepCounts)
    version: int = 0
    """Grows with each change."""
    executor: Executor = Executor.UNSPECIFIED


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHappening:
    """Something that happened in a run."""

    number: int
    """Grows with each happening of the run, from 1."""
    time: datetime | None = None
    path: str = ""
    """The node it is about; empty if it is about the run."""
    what: str = ""
    """What, for programs: a word such as ``started``, ``retried``, ``cached``."""
    message: str = ""
    node_state: NodeState = NodeState.UNSPECIFIED
    """The state of the node after it."""
    run_state: RunState = RunState.UNSPECIFIED
    """The state of the run after it."""
    attempt: int = 0
    job_id: str = ""


class RunOptions(TypedDict, total=False):
    """What to run otherwise than the document says."""

    name: str
    description: str
    owner: str
    """Only root names another."""
    parameters: Mapping[str, object]
    """``name`` of every component that has it, ``component.name`` or ``dag.component.name`` of one."""
    disabled: Sequence[str]
    """Names or paths of nodes that are not to run."""
    docker_env: str
    failure_strategy: FailureStrategy
    executor: Executor
    fresh: Sequence[str]
    """Nodes that are not to take their result from the cache: ``*`` means all."""


class RunFilter(TypedDict, total=False):
    """Which runs to list; filters that are given must all match."""

    states: Sequence[RunState]
    owners: Sequence[str]
    filesystems: Sequence[str]
    ids: Sequence[str]
    names: Sequence[str]
    schedule_id: str
    pipeline_id: str
