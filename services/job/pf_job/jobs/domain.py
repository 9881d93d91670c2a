"""Jobs, their replicas, and what happened to them, as they are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from pf_job.frameworks.registry import steady
from pf_job.jobs.life import Life
from pf_job.jobs.states import State
from pf_job.jobs.terms import BACKOFF, LONGEST_BACKOFF, Terms
from pf_job.runtimes.port import ReplicaKey
from pf_job.specs.domain import JobSpec, JobType


@dataclass(frozen=True, slots=True)
class Part:
    """What a job is part of, if a service made it."""

    key: str
    """Unique for ever."""
    scope: str
    epoch: int
    user_since: datetime | None = None
    """When the user was added in whose name it is made; None if anybody of the name will do. It is not kept."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose job it is: a name can be given again, together with the time since when it was given it cannot."""

    name: str
    since: datetime | None = None
    """When the user was added; None for a service, whose jobs are no user's. Of jobs from before it was noted, when
    these were accepted.
    """

    def is_of(self, user: Owner) -> bool:
        """True if what it owns is that of a user, or service, who is there now."""
        if self.since is None or user.since is None:
            return self == user
        return self.name == user.name and self.since >= user.since


NOBODY = Owner("")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job, and where it stands."""

    id: str
    owner: str
    owner_since: datetime | None = None
    """See `Owner`."""
    type: JobType
    spec: JobSpec
    life: Life
    resources: Mapping[str, int] = field(default_factory=dict)
    """What all its replicas take together, without what lies above the minimum."""
    notes: Sequence[str] = ()
    part: Part | None = None
    version: int = 0
    number: int = 0
    """Grows with each job that is accepted."""

    @property
    def etag(self) -> str:
        """Changes with each change of the job."""
        return str(self.version)

    @property
    def terms(self) -> Terms:
        retry, limits = self.spec.retry, self.spec.limits
        return Terms(
            retries=retry.limit,
            backoff=BACKOFF if retry.backoff is None else retry.backoff,
            max_backoff=LONGEST_BACKOFF if retry.max_backoff is None else retry.max_backoff,
            final_statuses=frozenset(retry.not_on),
            requeue=not retry.no_requeue,
            pending=limits.pending,
            run=limits.run,
            steady=steady(self.spec),
        )

    @property
    def kept_until(self) -> datetime | None:
        """When it may be forgotten; None as long as it is not over, or if that is never."""
        kept, finish = self.spec.limits.kept, self.life.finish_time
        return finish + kept if kept is not None and finish is not None else None

    @property
    def whose(self) -> Owner:
        return Owner(self.owner, self.owner_since)

    @property
    def queue(self) -> str:
        return self.spec.work.scheduling_policy.queue


@dataclass(frozen=True, slots=True)
class JobChanged:
    """A job is new, has changed, or is forgotten."""

    job: Job
    forgotten: bool = False
    born: bool = False


class TaskState(StrEnum):
    """Where a replica stands."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"
    STOPPING = "stopping"
    """Its runtime is to end it, or has been told to, while the job goes on."""


ENDED = frozenset({TaskState.SUCCEEDED, TaskState.FAILED, TaskState.STOPPED, TaskState.LOST})
"""States that are never left."""


TaskKey = ReplicaKey
"""One start of one replica, for ever: under the same name here and in its runtime."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A replica."""

    key: TaskKey
    state: TaskState = TaskState.PENDING
    message: str = ""
    machine: str = ""
    status: int | None = None
    signal: int | None = None
    accelerators: tuple[int, ...] = ()
    ports: Mapping[str, int] = field(default_factory=dict)
    """What it listens on, by the names that its role has for them; chosen before it starts for the first time."""
    start_time: datetime | None = None
    finish_time: datetime | None = None


Counts = Mapping[tuple[str, TaskState], int]
"""How many replicas of an attempt stand where, each as it was started last, by role and state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something that happened to a job or to one of its replicas."""

    job: str
    number: int
    time: datetime
    attempt: int
    state: State
    what: str
    message: str = ""
    role: str = ""
    index: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs to list. Empty fields match all; all must match."""

    owner: str = ""
    queue: str = ""
    queues: frozenset[str] | None = None
    """Only jobs of the viewer, and those of others in these queues; None for all."""
    viewer: Owner = NOBODY
    states: frozenset[State] = frozenset()
    labels: Mapping[str, str] = field(default_factory=dict)
    updated_since: datetime | None = None
    started_since: datetime | None = None
    name_prefix: str = ""
