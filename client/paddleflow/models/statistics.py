"""What jobs used of their machines, and for how long they held what of their queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypedDict

from paddleflow.models.job_specs import Role


class Metric(StrEnum):
    """Something that a replica uses. Of a rate a total is known too."""

    UNSPECIFIED = ""
    CPU = "cpu"
    """Cores that are busy; a rate, whose total is in core-seconds."""
    MEMORY = "memory"
    """Bytes, without page cache that could be given back at once."""
    DISK_READ = "disk read"
    """Bytes each second, as of all that are a rate from here on."""
    DISK_WRITE = "disk write"
    NETWORK_RECEIVE = "network receive"
    NETWORK_SEND = "network send"
    PROCESSES = "processes"
    ACCELERATOR = "accelerator"
    """Accelerators that are busy; no rate."""
    ACCELERATOR_MEMORY = "accelerator memory"
    """Bytes."""


class UsageOptions(TypedDict, total=False):
    """Which use of a job to tell; what is left out means the last attempt, all of it."""

    attempt: int
    """-1: all."""
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricStatistics:
    """How much was used of one thing."""

    average: float | None
    """The mean over the time that was measured; None if it was not measured often enough."""
    peak: float
    total: float | None = None
    """Of a rate."""
    asked: float | None = None
    """What was asked for; None if nothing was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStatistics:
    """What one start of one replica has used."""

    attempt: int
    role: Role
    index: int
    restart: int = 0
    start_time: datetime | None = None
    finish_time: datetime | None = None
    """None as long as it runs."""
    metrics: Mapping[Metric, MetricStatistics] = field(default_factory=dict)
    """What is not measured is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatistics:
    """What a job has used."""

    metrics: Mapping[Metric, MetricStatistics] = field(default_factory=dict)
    """Of all replicas together."""
    tasks: Sequence[TaskStatistics] = ()
    """Of each that has begun, by attempt, role, index and restart."""
    notes: Sequence[str] = ()
    """What is not measured and why, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSeries:
    """What one start of one replica has used, step by step."""

    attempt: int
    role: Role
    index: int
    restart: int = 0
    start: datetime
    """When the first step begins."""
    step: timedelta
    coarser: bool = False
    """True if the steps are longer than asked for: there are at most 1000."""
    values: Mapping[Metric, Sequence[float | None]] = field(default_factory=dict)
    """The mean in each step; None where nothing is known. What is not measured is left out."""


class CardTimeGroup(StrEnum):
    """What is told together."""

    UNSPECIFIED = ""
    """The same as by queue."""
    QUEUE = "queue"
    USER = "user"
    """All jobs of a user in a queue."""
    JOB = "job"


class CardTimeFilter(TypedDict, total=False):
    """Which jobs count, and in which time; what is left out means all, and the last 30 days."""

    queues: Sequence[str]
    users: Sequence[str]
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CardTime:
    """What the jobs of one group held while they ran, and for how long."""

    queue: str
    user: str = ""
    """Empty if this is of a queue."""
    job: str = ""
    """Empty if this is of a queue or of a user."""
    jobs: int = 1
    running: int = 0
    """How many of them hold something still."""
    seconds: float = 0.0
    """Of all these jobs together."""
    card_seconds: float = 0.0
    """Times pieces of whatever is neither processor nor memory."""
    cards: Mapping[str, float] = field(default_factory=dict)
    """The same by resource."""
    core_seconds: float = 0.0
    memory_byte_seconds: float = 0.0
    most_cards: int = 0
    """The most that one job held at one time."""
    accept_time: datetime | None = None
    start_time: datetime | None = None
    """When the first of them began to run."""
    finish_time: datetime | None = None
    """None if one of them runs."""
