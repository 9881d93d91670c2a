"""Queues: the places of a cluster's quota tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypedDict


class QuotaType(StrEnum):
    """The kind of quota a queue has."""

    UNSPECIFIED = ""
    ELASTIC = "elasticQuota"
    """A place in the tree, with guarantee and ceiling."""
    CAPABILITY = "volcanoCapabilityQuota"
    """Flat, with a ceiling only."""


class Isolation(StrEnum):
    """Whether a top queue shares machines with others."""

    UNSPECIFIED = ""
    LOGICAL = "logical"
    PHYSICAL = "physical"
    """It has the machines dedicated to it for itself."""


class PreemptionPolicy(StrEnum):
    """Whom workloads of a queue may push out, so as to start."""

    UNSPECIFIED = ""
    RECLAIM_AND_PRIORITY = "reclaim-and-priority"
    """Those who borrow the queue's guarantee, and workloads of lower priority in the same queue."""
    RECLAIM_ONLY = "reclaim-only"
    NEVER = "never"


class OrderPolicy(StrEnum):
    """In which order the workloads of a queue are admitted."""

    UNSPECIFIED = ""
    BEST_EFFORT = "best-effort"
    """A workload that does not fit lets later ones pass, for a bounded time."""
    STRICT_FIFO = "strict-fifo"


class QueueState(StrEnum):
    """What a queue does with workloads."""

    UNSPECIFIED = ""
    OPEN = "open"
    HELD = "held"
    DRAINING = "draining"
    CLOSING = "closing"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Queue:
    """A place in the quota tree of a cluster."""

    name: str
    cluster: str = ""
    """Empty at creation means the only cluster, if there is one."""
    namespace: str = ""
    """Empty at creation means ``default``."""
    quota_type: QuotaType = QuotaType.UNSPECIFIED
    isolation: Isolation = Isolation.UNSPECIFIED
    parent: str = ""
    """The queue above; empty at the top of the tree."""
    min: Mapping[str, int] = field(default_factory=dict)
    """Guaranteed: what the queue can always have back. Absent resources are 0."""
    max: Mapping[str, int] = field(default_factory=dict)
    """The ceiling, borrowed amounts included. A resource that is absent here has the parent's ceiling."""
    lend_limit: Mapping[str, int] = field(default_factory=dict)
    """The most of `min` that others may borrow while it is idle. An absent resource may be lent wholly."""
    weight: int = 0
    """The share of borrowed resources relative to the siblings'; 0 at creation means 100."""
    priority: int = 0
    preemption_policy: PreemptionPolicy = PreemptionPolicy.UNSPECIFIED
    order_policy: OrderPolicy = OrderPolicy.UNSPECIFIED
    max_jobs: int = 0
    """The most workloads that may be admitted at once; 0 means no limit."""
    max_per_user: Mapping[str, int] = field(default_factory=dict)
    """The most that one user may have admitted in this queue; absent resources have no limit."""
    max_jobs_per_user: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    state: QueueState = QueueState.UNSPECIFIED
    """Output only."""
    effective_max: Mapping[str, int] = field(default_factory=dict)
    """Output only. What `max` is after inheritance."""
    used: Mapping[str, int] | None = None
    """Output only. What admitted workloads of this queue and of those below it hold; None where it is not told: in
    watches, and in answers to changes."""
    create_time: datetime | None = None
    update_time: datetime | None = None
    etag: str = ""


class QueueChanges(TypedDict, total=False):
    """New values for a queue's fields; a field that is left out stays as it is.

    In mappings only the names given change, and None removes one: ``max={"cpu": 8000, "nvidia.com/gpu": None}``.
    """

    parent: str
    min: Mapping[str, int | None]
    max: Mapping[str, int | None]
    lend_limit: Mapping[str, int | None]
    weight: int
    priority: int
    preemption_policy: PreemptionPolicy
    order_policy: OrderPolicy
    max_jobs: int
    max_per_user: Mapping[str, int | None]
    max_jobs_per_user: int
    labels: Mapping[str, str | None]


class QueueFilter(TypedDict, total=False):
    """Which queues to list; filters that are given must all match."""

    cluster: str
    namespace: str
    parent: str
    """Only direct children of this queue."""
    states: Sequence[QueueState]
    name_prefix: str
    labels: Mapping[str, str]
    """Only queues with all these labels."""
