"""Runs, their nodes, and what happened to them, as they are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from pf_kit.changes import UNBORN
from pf_pipeline.documents.model import Strategy, Value
from pf_pipeline.owners import Owner
from pf_pipeline.plans.domain import Kind
from pf_pipeline.plans.paths import job_name
from pf_pipeline.runs.states import NodeState, RunState, Stop


class Executor(StrEnum):
    """How steps are run."""

    JOBS = "jobs"
    NOTHING = "nothing"


class Waiting(StrEnum):
    """What a node waits for."""

    NOTHING = ""
    DEPENDENCIES = "dependencies"
    PARALLELISM = "parallelism"
    SEMAPHORE = "semaphore"
    APPROVAL = "approval"
    RETRY = "retry"
    CACHE = "cache"
    JOB = "job"
    FILES = "files"
    CHILDREN = "children"
    ENGINE = "engine"
    PHASE = "phase"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a document came from."""

    document: bool = False
    """It was given as it is."""
    pipeline_id: str = ""
    pipeline_version: int = 0
    path: str = ""

    @property
    def origin(self) -> str:
        """What results are kept under that runs of the same source may use again; empty: the document's digest."""
        if self.pipeline_id:
            return f"{self.pipeline_id}-{self.pipeline_version}"
        return self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What was asked for. It never changes."""

    name: str
    """That of the document, which is part of the paths of artifacts."""
    title: str = ""
    """What people call the run."""
    description: str = ""
    source: Source = field(default_factory=Source)
    origin: str = ""
    document: str = ""
    """As it was given."""
    parameters: Mapping[str, object] = field(default_factory=dict)
    filesystem: str = ""
    filesystem_id: str = ""
    sub_path: str = ""
    """The folder of the main filesystem that steps see, without `/` at its ends."""
    mounts: Mapping[str, str] = field(default_factory=dict)
    """Ids of all filesystems by the names that the document has for them."""
    docker_env: str = ""
    disabled: tuple[str, ...] = ()
    strategy: Strategy | None = None
    """None: that of the document."""
    executor: Executor = Executor.JOBS
    fresh: tuple[str, ...] = ()
    notify: tuple[Mapping[str, object], ...] = ()
    """Who is to be told of the end, as the document says; known also if nothing can be made of that any more."""
    """Paths of nodes that take nothing from the cache; `*`: none does."""
    schedule_id: str = ""
    scheduled_time: datetime | None = None
    retry_of: str = ""


@dataclass(frozen=True, slots=True)
class StepCounts:
    """How many steps stand where."""

    waiting: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    skipped: int = 0
    cancelled: int = 0
    cached: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLife:
    """Where a run stands."""

    create_time: datetime
    state: RunState = RunState.INITIATING
    message: str = ""
    stop: Stop = Stop.NO
    stopped_by: str = ""
    steps: StepCounts = field(default_factory=StepCounts)
    start_time: datetime | None = None
    finish_time: datetime | None = None
    happenings: int = 0
    """The number of the last happening."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run, and where it stands."""

    id: str
    owner: str
    owner_since: datetime = UNBORN
    """See `Owner`."""
    order: Order
    life: RunLife
    number: int = 0
    """Grows with each run that is made."""
    version: int = 0
    update_time: datetime | None = None

    @property
    def whose(self) -> Owner:
        return Owner(self.owner, self.owner_since)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeWork:
    """What a node is about, once that is settled. It changes only when the node is tried again."""

    parameters: Mapping[str, Value] = field(default_factory=dict)
    command: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    docker_env: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    result_files: Mapping[str, str] = field(default_factory=dict)
    """Where it writes its small results, by their names."""
    loop_argument: Value | None = None
    condition: str = ""
    job: Mapping[str, object] = field(default_factory=dict)
    """Fields of the document of its job, templates replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheTrace:
    """What the cache said about a node."""

    key: str = ""
    """Empty: it was not asked."""
    run: str = ""
    """The run from which the result came; empty if it came from none."""
    job: str = ""
    message: str = ""
    parts: Mapping[str, object] = field(default_factory=dict)
    """All that decided about the key, for explanations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A step or a DAG of a run, or one iteration of it."""

    run: str
    path: str
    kind: Kind = Kind.STEP
    parent: str = ""
    """The path of the DAG it is in."""
    name: str = ""
    reference: str = ""
    """The component of which it is a copy."""
    deps: tuple[str, ...] = ()
    """Names of siblings that it depends on."""
    place: int = 0
    """Where it stands in the order of the document: its number among all components."""
    iteration: int = 0
    iterations: int = 0
    """How many there are; 0 if it is no loop."""
    state: NodeState = NodeState.PENDING
    message: str = ""
    waiting: Waiting = Waiting.NOTHING
    waiting_on: tuple[str, ...] = ()
    attempt: int = 0
    job: str = ""
    """The id of the job of its last try."""
    work: NodeWork = field(default_factory=NodeWork)
    results: Mapping[str, Value] = field(default_factory=dict)
    cache: CacheTrace = field(default_factory=CacheTrace)
    approved_by: str = ""
    start_time: datetime | None = None
    finish_time: datetime | None = None
    not_before: datetime | None = None

    @property
    def job_name(self) -> str:
        """What its jobs are called."""
        return job_name(self.run, self.name, self.iteration)

    @property
    def first_path(self) -> str:
        """The path of iteration 0."""
        return self.path.removesuffix(f"[{self.iteration}]") if self.iteration else self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """What a component is repeated for."""

    run: str
    path: str
    """That of iteration 0."""
    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Leaving:
    """The artifacts of a run that is forgotten."""

    run: str
    owner: str
    filesystem_id: str
    path: str


class Wanted(StrEnum):
    """What somebody wants of a run that is under way."""

    BEGIN = "begin"
    STOP = "stop"
    FORCE = "force"
    APPROVE = "approve"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What somebody wants of a run; kept until whoever drives runs has taken it in."""

    run: str
    wanted: Wanted
    path: str = ""
    by: str = ""
    comment: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something that happened in a run."""

    run: str
    number: int
    time: datetime
    what: str
    path: str = ""
    message: str = ""
    node_state: NodeState | None = None
    run_state: RunState = RunState.RUNNING
    attempt: int = 0
    job: str = ""


@dataclass(frozen=True, slots=True)
class RunChanged:
    """A run is new, has changed, or is forgotten."""

    run: Run
    forgotten: bool = False
    born: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs to list. Empty fields match all; all must match."""

    owners: frozenset[str] = frozenset()
    states: frozenset[RunState] = frozenset()
    filesystems: frozenset[str] = frozenset()
    ids: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    schedule_id: str = ""
    pipeline_id: str = ""
    seen_by: Owner | None = None
    """Only those of this user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFilter:
    """Which nodes of a run to list."""

    below: str = ""
    states: frozenset[NodeState] = frozenset()

    def fits(self, node: Node) -> bool:
        return self.is_below(node.path) and (not self.states or node.state in self.states)

    def is_below(self, path: str) -> bool:
        return not self.below or path == self.below or path.startswith((f"{self.below}.", f"{self.below}["))


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far the iterations of a component are."""

    kept: int = 0
    """Those of which something is kept: they have begun, or never will."""
    over: int = 0
    gap: int = 0
    """The first one of which nothing is kept."""
    items: int | None = None
    """How many there are; None: it is no loop, or nobody knows yet."""

    @property
    def is_over(self) -> bool:
        """True if nothing is under way and nothing is to begin, in a run in which nothing is left out."""
        return self.over == self.kept and self.kept >= max(1, self.items or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How many nodes of one component stand in one state, in all DAGs that it is in."""

    place: int
    state: NodeState
    number: int
    cached: int = 0
    """Those whose results came from the cache."""
    start_time: datetime | None = None
    """When the first of them began."""
    finish_time: datetime | None = None
    """When the last of them was over."""
