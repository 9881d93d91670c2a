"""Jobs: what is run, its replicas, and what happened to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypedDict

from paddleflow.models.job_specs import JobSpec, Priority, Role
from paddleflow.problems import Problem


class JobType(StrEnum):
    """What kind of job."""

    UNSPECIFIED = ""
    """As the spec says: distributed if it has members, else single."""
    SINGLE = "single"
    DISTRIBUTED = "distributed"
    WORKFLOW = "workflow"


class JobState(StrEnum):
    """Where a job stands."""

    UNSPECIFIED = ""
    INIT = "init"
    """Accepted; the queue does not know of it yet."""
    PENDING = "pending"
    """It waits in its queue, or for its replicas to begin."""
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TERMINATING = "terminating"
    """Somebody stopped it; its replicas are about to end."""
    TERMINATED = "terminated"
    PREEMPTING = "preempting"
    """Pushed out by others; its replicas are about to end, then it waits again."""
    PREEMPTED = "preempted"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"

    @property
    def over(self) -> bool:
        """True if it is never left."""
        return self in OVER


OVER = frozenset(
    {
        JobState.SUCCEEDED,
        JobState.FAILED,
        JobState.TERMINATED,
        JobState.PREEMPTED,
        JobState.CANCELLED,
        JobState.SKIPPED,
    }
)
"""States that are never left."""


class TaskState(StrEnum):
    """Where a replica stands."""

    UNSPECIFIED = ""
    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    """Over: ended because it was told to."""
    LOST = "lost"
    """Over: nobody knows how it ended."""
    STOPPING = "stopping"
    """About to end while its job goes on: without it, or with all that are started again together."""


@dataclass(frozen=True, slots=True)
class RoleStatus:
    """How the replicas of one role stand."""

    role: Role
    replicas: int = 0
    """How many there are to be now."""
    running: int = 0
    succeeded: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job, and where it stands. All of it is told by the server."""

    id: str
    spec: JobSpec
    """What was asked for, with all defaults filled in."""
    type: JobType = JobType.UNSPECIFIED
    owner: str = ""
    state: JobState = JobState.UNSPECIFIED
    message: str = ""
    """Why it stands there, for people; empty if there is nothing to say."""
    notes: Sequence[str] = ()
    """What to know of it that is no failure."""
    queue: str = ""
    cluster: str = ""
    """Where it runs; empty before it is admitted."""
    attempt: int = 0
    """1 for the first."""
    retries: int = 0
    """How often it failed and was tried again."""
    resources: Mapping[str, int] = field(default_factory=dict)
    """What all its replicas take together, without surplus."""
    accept_time: datetime | None = None
    start_time: datetime | None = None
    """When its last attempt began to run."""
    finish_time: datetime | None = None
    not_before: datetime | None = None
    """It does not wait in its queue before this time; None if it does."""
    roles: Sequence[RoleStatus] = ()
    """Replicas of the last attempt by role; told by `get` and `list`, elsewhere empty."""
    version: int = 0
    """Grows with each change."""
    etag: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One replica of one attempt of a job."""

    job_id: str
    attempt: int
    role: Role
    index: int = 0
    """Its number among those of its role, from 0."""
    restarts: int = 0
    """How often it has been started again within the attempt."""
    state: TaskState = TaskState.UNSPECIFIED
    message: str = ""
    node: str = ""
    """The machine it runs on."""
    exit_status: int | None = None
    """None while it runs, or if a signal ended it."""
    signal: int = 0
    """The signal that ended it; 0 if none did."""
    accelerators: Sequence[int] = ()
    """Numbers of the accelerators it has for itself."""
    start_time: datetime | None = None
    finish_time: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something that happened to a job or to one of its replicas."""

    number: int
    """Grows with each happening of the job, from 1."""
    time: datetime | None
    attempt: int
    state: JobState
    """The state of the job after it."""
    what: str
    """What, for programs: a word such as ``admitted``, ``started``, ``evicted``, ``retry``."""
    message: str = ""
    role: Role = Role.UNSPECIFIED
    """The role of the replica it is about; unspecified if it is about the job."""
    index: int = 0


@dataclass(frozen=True, slots=True)
class JobOwner:
    """What a job is part of, if a service makes it."""

    key: str
    """Unique for ever: to create a job of the same key again returns the one that exists."""
    scope: str
    """Whose jobs these are together."""
    epoch: int
    """Grows each time somebody else takes over the scope; who has a lower one is refused."""


JobResult = Job | Problem
"""What became of one job of many: the job, or, not raised, why it was refused."""


class JobChanges(TypedDict, total=False):
    """What is to change of a job; a field that is left out stays as it is."""

    priority: Priority
    """As long as it waits."""
    labels: Mapping[str, str | None]
    """Only the labels named here change; None removes one."""
    annotations: Mapping[str, str | None]


class JobFilter(TypedDict, total=False):
    """Which jobs to list; filters that are given must all match."""

    states: Sequence[JobState]
    queue: str
    owner: str
    labels: Mapping[str, str]
    updated_since: datetime
    started_since: datetime
    name_prefix: str
