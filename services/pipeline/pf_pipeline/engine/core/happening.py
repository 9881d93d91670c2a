"""What can happen to a run from outside, and what the run wants to be done because of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pf_pipeline.documents.model import Value
from pf_pipeline.plans.domain import PlannedStep
from pf_pipeline.runs.domain import CacheTrace, Node, Wanted


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody wants something of the run."""

    wanted: Wanted
    path: str = ""
    by: str = ""
    comment: str = ""
    number: int = 0
    """Of the wish as it is kept; 0 if it is not."""


@dataclass(frozen=True, slots=True)
class Passed:
    """Time has passed: something may be due. Also told when a semaphore may be free."""


@dataclass(frozen=True, slots=True)
class Told:
    """The contents of files that a node asked for, by path in the main filesystem."""

    path: str
    """That of the node."""
    contents: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    """Why there are none; empty if there are."""


class Verdict(StrEnum):
    """What the cache says."""

    HIT = "hit"
    MISS = "miss"
    WAIT = "wait"
    """The same is being done by another node, whose result may be taken."""
    FAIL = "fail"
    """It cannot be told, and never will."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The cache has been asked."""

    path: str
    verdict: Verdict
    trace: CacheTrace
    outputs: Mapping[str, str] = field(default_factory=dict)
    results: Mapping[str, Value] = field(default_factory=dict)
    waiting_on: str = ""
    """Of a verdict to wait, the run of the other node."""


class JobState(StrEnum):
    """Where the job of a step stands, as far as its run cares."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TERMINATED = "terminated"


@dataclass(frozen=True, slots=True)
class JobSeen:
    """Where a job stands. May come late, twice and out of order."""

    path: str
    attempt: int
    state: JobState
    message: str = ""
    status: int | None = None
    """Its exit status, if it failed with one."""


@dataclass(frozen=True, slots=True)
class ResultsRead:
    """The small results of a step that succeeded."""

    path: str
    results: Mapping[str, Value] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Broken:
    """What the run wanted cannot be done, because of a fault that nobody expected."""

    fault: str


Event = Asked | Passed | Told | Judged | JobSeen | ResultsRead | Broken


@dataclass(frozen=True, slots=True)
class Read:
    """Files of the main filesystem are to be read."""

    path: str
    """The node that wants them."""
    files: tuple[str, ...]
    limit: int
    """Bytes that each must stay below."""


@dataclass(frozen=True, slots=True)
class Judge:
    """The cache is to be asked."""

    node: Node
    planned: PlannedStep
    runtime_name: str


@dataclass(frozen=True, slots=True)
class Launch:
    """The job of a step is to be created; if it is there, nothing is to be done."""

    node: Node
    planned: PlannedStep
    runtime_name: str
    """The name of the node in the paths of artifacts."""
    resumed: bool = False
    """It was wanted before already: there may be a job, which is to be left alone with all that it has written."""


@dataclass(frozen=True, slots=True)
class Halt:
    """The job of a step is to be stopped."""

    path: str
    attempt: int
    job: str


@dataclass(frozen=True, slots=True)
class ReadResults:
    """The small results of a step are to be read."""

    node: Node
    planned: PlannedStep
    runtime_name: str


@dataclass(frozen=True, slots=True)
class Over:
    """The run is over: it needs not be looked after any more."""


Effect = Read | Judge | Launch | Halt | ReadResults | Over
