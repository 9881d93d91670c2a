"""What admission decides and tells: why workloads wait, what would happen, how busy queues are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypedDict

from paddleflow.models.workloads import EvictionReason, PendingReason, RoleGrant, Workload, WorkloadKey
from paddleflow.problems import Problem


class DecisionKind(StrEnum):
    """What was decided about a workload."""

    UNSPECIFIED = ""
    ADMIT = "admit"
    """It may start with its minimum."""
    GROW = "grow"
    """It may have more replicas."""
    EVICT = "evict"
    """It must give back replicas."""
    KEEP = "keep"
    """Room is kept for it."""
    KEEP_NO_MORE = "keep-no-more"
    REQUEUE = "requeue"
    """It waits again."""
    HOLD = "hold"
    """It was sent back too often, and waits for somebody to resume it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Something that was decided."""

    id: int
    """Grows with each decision; 0 in a simulation."""
    time: datetime | None
    key: WorkloadKey
    queue: str
    kind: DecisionKind
    replicas: Sequence[RoleGrant] = ()
    """What it is about, by role; none if the workload waits again."""
    eviction_reason: EvictionReason = EvictionReason.UNSPECIFIED
    beneficiary: WorkloadKey | None = None
    """For which workload, if it is an eviction for one."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where a workload stands in its queue."""

    position: int
    """1 for the first that waits; 0 if it does not wait."""
    waiting: int = 0
    """How many wait in its queue."""
    estimate: timedelta | None = None
    """How long it will probably wait; None if its queue did not move lately."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """What a workload lacks of a resource."""

    resource: str
    asked: int
    free: int
    """What there is for the taking."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why and how a workload waits."""

    reason: PendingReason
    message: str = ""
    """Why, in words, and what would help."""
    queue: str = ""
    """The queue that holds it up; empty if it is the machines, or nothing."""
    shortages: Sequence[Shortage] = ()
    behind: WorkloadKey | None = None
    """The workload it waits behind, in a strict queue."""
    leaving: Sequence[WorkloadKey] = ()
    """Those who are leaving for it."""
    kept_until: datetime | None = None
    """Until when room is kept for it; None if none is."""
    not_before: datetime | None = None
    """It is not looked at before this time; None if it is."""
    position: Position = Position(0)


@dataclass(frozen=True, slots=True)
class Explanation:
    """All there is to say about a workload."""

    workload: Workload
    waiting: Waiting | None
    """None if it does not wait."""
    decisions: Sequence[Decision] = ()
    """What was decided about it, or about all attempts of its job, oldest first; at most the last 100."""


@dataclass(frozen=True, slots=True)
class GoneNode:
    """A machine that would be gone."""

    cluster: str
    name: str


@dataclass(frozen=True, slots=True)
class SimulatedWorkload:
    """What would become of a workload."""

    key: WorkloadKey
    admitted: bool
    waiting: Waiting | None = None
    """Why it would wait; None if it would not."""
    refusal: Problem | None = None
    """Why it would be refused; None if it would not."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """What would happen."""

    decisions: Sequence[Decision]
    """Each with its time: at once, after those have left who had to, and later, up to the horizon."""
    workloads: Sequence[SimulatedWorkload]
    """What would become of those asked about, in their order."""
    horizon: timedelta = timedelta()
    """How far ahead was looked. Meanwhile nobody ends by itself."""
    cut_off: bool = False
    """True if more would be decided than is told."""


@dataclass(frozen=True, slots=True)
class QueueLoad:
    """How busy a queue is, those below it included."""

    queue: str
    used: Mapping[str, int] = field(default_factory=dict)
    """What its workloads hold."""
    leaving: Mapping[str, int] = field(default_factory=dict)
    """What of that is on its way out."""
    kept: Mapping[str, int] = field(default_factory=dict)
    """What is kept for workloads that are about to start."""
    share: float = 0.0
    """What it borrows of what it could, by its dominant resource and divided by its weight."""
    waiting: int = 0
    admitted: int = 0
    admissions: int = 0
    """Workloads admitted in the last minute."""
    evictions: int = 0
    """Workloads told to leave in the last minute."""


class LoadFilter(TypedDict, total=False):
    """Which queues to list the loads of; filters that are given must all match."""

    cluster: str
    queue: str
    """Only this queue and those below it."""


class DecisionFilter(TypedDict, total=False):
    """Which decisions to list; filters that are given must all match."""

    queue: str
    job_id: str
    """All attempts of this job."""
    kinds: Sequence[DecisionKind]
    since: datetime
