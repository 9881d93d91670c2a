"""Workloads: what admission sees of jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias, TypedDict

from paddleflow.problems import InvalidArgument, Problem, Violation


class WorkloadState(StrEnum):
    """Where a workload stands."""

    UNSPECIFIED = ""
    PENDING = "pending"
    ADMITTED = "admitted"
    """It has its resources, and is charged for them until they are released."""
    EVICTING = "evicting"
    """It was told to give back all it holds."""
    HELD = "held"
    """It was sent back too often, and waits for somebody to resume it."""
    RELEASED = "released"
    SET_ASIDE = "set-aside"
    """What is stored of it makes no sense; admission goes on without it."""


class PendingReason(StrEnum):
    """Why a workload waits."""

    UNSPECIFIED = ""
    NOT_CONSIDERED = "not-considered"
    QUEUE_FULL = "queue-full"
    NOTHING_TO_BORROW = "nothing-to-borrow"
    NO_MACHINE = "no-machine"
    USER_LIMIT = "user-limit"
    JOB_LIMIT = "job-limit"
    BEHIND = "behind"
    RESERVED = "reserved"
    RECLAIMING = "reclaiming"
    QUEUE_HELD = "queue-held"
    BACKOFF = "backoff"
    CLUSTER_OFFLINE = "cluster-offline"


class EvictionReason(StrEnum):
    """Why replicas are taken back."""

    UNSPECIFIED = ""
    SURPLUS = "surplus"
    RECLAIM = "reclaim"
    PRIORITY = "priority"
    DRAIN = "drain"


class ReleaseOutcome(StrEnum):
    """How it ended with what is given back."""

    UNSPECIFIED = ""
    FINISHED = "finished"
    """The attempt is over by itself, well or not."""
    EVICTED = "evicted"
    """It was told to go; it waits again, as the next attempt."""
    CANCELLED = "cancelled"
    NOT_STARTED = "not-started"
    """It could not be started in time; it waits again, as the next attempt, after a while."""


@dataclass(frozen=True, slots=True)
class WorkloadKey:
    """One attempt of a job."""

    job_id: str
    attempt: int = 0
    """1 for the first; 0, where a workload is read, stands for the last."""

    def __str__(self) -> str:
        return f"{self.job_id}/{self.attempt}" if self.attempt else self.job_id

    @classmethod
    def parse(cls, text: str) -> WorkloadKey:
        """The key that is written ``JOB`` or ``JOB/ATTEMPT``; raises InvalidArgument."""
        job_id, slash, attempt = text.partition("/")
        if not slash:
            return cls(job_id)
        if not (attempt.isascii() and attempt.isdigit() and len(attempt) < len(str(2**31))):
            raise InvalidArgument.of(Violation("key", f"{text!r} is not of the form JOB or JOB/ATTEMPT"))
        return cls(job_id, int(attempt))


@dataclass(frozen=True, slots=True)
class RoleRequest:
    """What one role of a job needs."""

    role: str
    min_replicas: int
    """Replicas without which the job cannot run."""
    per_replica: Mapping[str, int] = field(default_factory=dict)
    max_replicas: int = 0
    """Replicas it can make use of; 0 means `min_replicas`. What lies above the minimum is surplus."""
    surplus_step: int = 0
    """The surplus comes and goes in multiples of this; 0 means 1."""


@dataclass(frozen=True, slots=True)
class RoleGrant:
    """How many replicas of a role may run, or are to stop."""

    role: str
    base: int = 0
    """Of the minimum."""
    surplus: int = 0
    """Of what lies above it, which may be taken back at any time."""
    leaving: int = 0
    """Of the surplus that a workload holds, what it was told to give back, and has not yet."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """What a workload holds."""

    key: WorkloadKey
    grant_id: str
    """Names this holding; a release must name it."""
    grant_version: int = 0
    """Grows with each change of the holding; an older version is to be ignored."""
    roles: Sequence[RoleGrant] = ()
    queue: str = ""
    cluster: str = ""
    deadline: datetime | None = None
    """Who has not been reported running by then is expected to release."""


@dataclass(frozen=True, slots=True)
class Workload:
    """What admission sees of one attempt of a job."""

    key: WorkloadKey
    queue: str
    user: str = ""
    roles: Sequence[RoleRequest] = ()
    priority: int = 0
    """Higher goes first among equals in share: -1000000 to 1000000."""
    grace_period: timedelta = timedelta()
    """How long its processes have between the word to stop and the kill."""
    min_run_time: timedelta = timedelta()
    """As long as it has not run this long, its minimum is not taken for others' sake."""
    revision: int = 0
    """Counts what was asked for one after the other, by whoever asks; 0 if nobody counts."""
    state: WorkloadState = WorkloadState.UNSPECIFIED
    """Output only, as is all that follows."""
    pending_reason: PendingReason = PendingReason.UNSPECIFIED
    admitted: Admitted | None = None
    """What it holds; None while it waits."""
    create_time: datetime | None = None
    requeue_count: int = 0
    """How often it could not be started in time."""


@dataclass(frozen=True, slots=True)
class Evicting:
    """A workload must give back replicas. They stay charged until they are released."""

    key: WorkloadKey
    grant_id: str
    grant_version: int = 0
    """The version of the holding once they are given back."""
    replicas: Sequence[RoleGrant] = ()
    grace_deadline: datetime | None = None
    """By when their processes must be gone."""
    reason: EvictionReason = EvictionReason.UNSPECIFIED
    beneficiary: WorkloadKey | None = None
    """For which workload; None if for none."""
    queue: str = ""
    left: Sequence[RoleGrant] = ()
    """What it holds when it has given back all that it was told to so far; none if the whole workload goes."""


@dataclass(frozen=True, slots=True)
class Released:
    """Replicas are gone and no longer charged."""

    key: WorkloadKey
    grant_id: str
    replicas: Sequence[RoleGrant] = ()
    outcome: ReleaseOutcome = ReleaseOutcome.UNSPECIFIED
    """Unspecified as long as the workload goes on with less."""
    queue: str = ""


@dataclass(frozen=True, slots=True)
class Requeued:
    """A workload waits again, as the next attempt."""

    key: WorkloadKey
    not_before: datetime | None = None
    """It is not looked at before this time."""
    held: bool = False
    """True if it was sent back too often, and waits for somebody to resume it."""
    queue: str = ""


WorkloadFact: TypeAlias = Workload | Admitted | Evicting | Released | Requeued
"""What a watch tells of a workload: how it stands at the beginning, or waits after it was submitted or changed, or what
has happened to it."""


@dataclass(frozen=True, slots=True)
class WorkloadResult:
    """What became of one workload of a batch."""

    key: WorkloadKey
    outcome: Workload | Problem
    """The workload; a problem, which is not raised, if this one was refused."""


@dataclass(frozen=True, slots=True)
class Release:
    """Ends one attempt."""

    key: WorkloadKey
    outcome: ReleaseOutcome
    grant_id: str = ""
    """What it holds; empty if it waits."""


@dataclass(frozen=True, slots=True)
class RunningReport:
    """A workload has begun to run."""

    key: WorkloadKey
    grant_id: str


class WorkloadFilter(TypedDict, total=False):
    """Which workloads of a queue to list; filters that are given must all match."""

    states: Sequence[WorkloadState]
    """None: all that are not over."""
    user: str
