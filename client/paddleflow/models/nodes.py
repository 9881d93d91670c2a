"""Nodes: the steps and DAGs of a run, why they stand where they stand, and what would become of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypedDict


class NodeState(StrEnum):
    """Where a node of a run stands."""

    UNSPECIFIED = ""
    PENDING = "pending"
    """It waits."""
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    """Ended well, or took its result from the cache."""
    FAILED = "failed"
    TERMINATING = "terminating"
    TERMINATED = "terminated"
    CANCELLED = "cancelled"
    """It never began, because of others."""
    SKIPPED = "skipped"

    @property
    def over(self) -> bool:
        """True if it is never left."""
        return self not in (NodeState.UNSPECIFIED, NodeState.PENDING, NodeState.RUNNING, NodeState.TERMINATING)


class NodeKind(StrEnum):
    """What a node is."""

    UNSPECIFIED = ""
    STEP = "step"
    DAG = "dag"
    POST_PROCESS = "post_process"
    EXIT_HANDLER = "exit_handler"


class NodeWaiting(StrEnum):
    """What a node waits for."""

    UNSPECIFIED = ""
    """Nothing: it runs, or is over."""
    DEPENDENCIES = "dependencies"
    PARALLELISM = "parallelism"
    SEMAPHORE = "semaphore"
    APPROVAL = "approval"
    RETRY = "retry"
    CACHE = "cache"
    """The same step of another run, whose result it will take."""
    JOB = "job"
    FILES = "files"
    CHILDREN = "children"
    ENGINE = "engine"
    """The engine, which has not come to it yet."""
    PHASE = "phase"
    """All that comes before it in the run: it is a post-process step or an exit handler."""


class CachePrediction(StrEnum):
    """Whether a result would come from the cache."""

    UNSPECIFIED = ""
    OFF = "off"
    HIT = "hit"
    MISS = "miss"
    UNKNOWN = "unknown"
    """It depends on what other nodes do."""


@dataclass(frozen=True, slots=True)
class CacheScope:
    """Files that decide whether it is the same step."""

    name: str
    """Of the filesystem."""
    path: str
    """Paths, joined by commas."""


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """How the result of a step is cached."""

    enable: bool = False
    max_expired_time: int = -1
    """Seconds after which it counts no more; -1: never."""
    fs_scope: Sequence[CacheScope] = ()


@dataclass(frozen=True, slots=True)
class ExtraFilesystem:
    """A filesystem that a step sees beside the main one."""

    name: str
    mount_path: str = ""
    sub_path: str = ""
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunNode:
    """A step or a DAG of a run, or one iteration of it. Templates are replaced as far as they can be."""

    path: str
    """Unique in its run, as in ``process[2].split``."""
    name: str
    reference: str = ""
    """The component of which it is a copy."""
    kind: NodeKind = NodeKind.UNSPECIFIED
    parent: str = ""
    """The path of the DAG it is in; empty at the top."""
    iteration: int = 0
    iterations: int = 0
    """0 if it is no loop."""
    loop_argument: object = None
    deps: Sequence[str] = ()
    """Names of siblings."""
    state: NodeState = NodeState.UNSPECIFIED
    message: str = ""
    waiting: NodeWaiting = NodeWaiting.UNSPECIFIED
    waiting_on: Sequence[str] = ()
    attempt: int = 0
    """1 for the first, 0 before."""
    job_id: str = ""
    job_name: str = ""
    command: str = ""
    parameters: Mapping[str, object] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    docker_env: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Paths of artifacts in the main filesystem; several joined by commas."""
    outputs: Mapping[str, str] = field(default_factory=dict)
    results: Mapping[str, object] = field(default_factory=dict)
    cache: CacheSettings = field(default_factory=CacheSettings)
    cache_run_id: str = ""
    """The run from which its result came."""
    cache_job_id: str = ""
    extra_fs: Sequence[ExtraFilesystem] = ()
    start_time: datetime | None = None
    finish_time: datetime | None = None
    not_before: datetime | None = None
    condition: str = ""


@dataclass(frozen=True, slots=True)
class CacheDifference:
    """One thing in which a step differs from a cached one."""

    what: str
    before: str
    now: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheExplanation:
    """Why a result came from the cache or not."""

    hit: bool
    message: str = ""
    key: str = ""
    nearest: str = ""
    """The cached result that is most like it; empty if there is none."""
    differences: Sequence[CacheDifference] = ()


@dataclass(frozen=True, slots=True)
class NodeExplanation:
    """Why a node stands where it stands."""

    node: RunNode
    reasons: Sequence[str]
    """Sentences, the most important one first."""
    cache: CacheExplanation | None = None
    """None if the cache was not asked."""


@dataclass(frozen=True, slots=True)
class PlannedNode:
    """What would become of a node."""

    node: RunNode
    prediction: CachePrediction
    message: str = ""
    """Why."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What a run would do."""

    document: str
    """As it would run, with all references and defaults resolved."""
    nodes: Sequence[PlannedNode]
    left_out: int = 0
    """How many nodes, and iterations of long loops, are not told, because there are too many."""


class RunNodeFilter(TypedDict, total=False):
    """Which nodes to list; filters that are given must all match."""

    below: str
    """Only nodes below this path, and itself."""
    states: Sequence[NodeState]
