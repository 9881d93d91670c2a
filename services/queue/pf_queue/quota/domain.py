"""Queues, the states they go through, and what happens to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from paddleflow.problems import QueueStateConflict
from pf_kit.changes import UNBORN, ChangeKind
from pf_queue.resources import NOTHING, Resources

DEFAULT_NAMESPACE = "default"
DEFAULT_WEIGHT = 100
RESERVED_NAME = "default"
"""Kept free, as in PaddleFlow 1: Volcano has a queue of this name in every cluster."""
DEEPEST = 16
"""Queues from the top of a tree to its bottom."""


class QuotaType(StrEnum):
    """What kind of quota a queue has; the values are the words of PaddleFlow 1."""

    ELASTIC = "elasticQuota"
    CAPABILITY = "volcanoCapabilityQuota"


class Isolation(StrEnum):
    """Whether a top queue shares machines."""

    LOGICAL = "logical"
    PHYSICAL = "physical"


class PreemptionPolicy(StrEnum):
    """Whom workloads of a queue may push out."""

    RECLAIM_AND_PRIORITY = "reclaim_and_priority"
    RECLAIM_ONLY = "reclaim_only"
    NEVER = "never"


class OrderPolicy(StrEnum):
    """In which order workloads of a queue are admitted."""

    BEST_EFFORT = "best_effort"
    STRICT_FIFO = "strict_fifo"


class QueueState(StrEnum):
    """What a queue does with workloads."""

    OPEN = "open"
    """Takes and admits."""
    HELD = "held"
    """Takes, does not admit."""
    DRAINING = "draining"
    """Takes, does not admit, and sends back what runs."""
    CLOSING = "closing"
    """Does not take; finishes what it has."""
    CLOSED = "closed"
    """Does not take, and has nothing."""


class StateEvent(StrEnum):
    """What moves a queue from state to state."""

    OPEN = "open"
    HOLD = "hold"
    DRAIN = "drain"
    CLOSE = "close"
    EMPTIED = "emptied"
    """The queue's last workload is finished."""


TRANSITIONS: Mapping[tuple[QueueState, StateEvent], QueueState] = {
    (QueueState.OPEN, StateEvent.OPEN): QueueState.OPEN,
    (QueueState.OPEN, StateEvent.HOLD): QueueState.HELD,
    (QueueState.OPEN, StateEvent.DRAIN): QueueState.DRAINING,
    (QueueState.OPEN, StateEvent.CLOSE): QueueState.CLOSING,
    (QueueState.OPEN, StateEvent.EMPTIED): QueueState.OPEN,
    (QueueState.HELD, StateEvent.OPEN): QueueState.OPEN,
    (QueueState.HELD, StateEvent.HOLD): QueueState.HELD,
    (QueueState.HELD, StateEvent.DRAIN): QueueState.DRAINING,
    (QueueState.HELD, StateEvent.CLOSE): QueueState.CLOSING,
    (QueueState.HELD, StateEvent.EMPTIED): QueueState.HELD,
    (QueueState.DRAINING, StateEvent.OPEN): QueueState.OPEN,
    (QueueState.DRAINING, StateEvent.HOLD): QueueState.HELD,
    (QueueState.DRAINING, StateEvent.DRAIN): QueueState.DRAINING,
    (QueueState.DRAINING, StateEvent.CLOSE): QueueState.CLOSING,
    (QueueState.DRAINING, StateEvent.EMPTIED): QueueState.DRAINING,
    (QueueState.CLOSING, StateEvent.OPEN): QueueState.OPEN,
    (QueueState.CLOSING, StateEvent.CLOSE): QueueState.CLOSING,
    (QueueState.CLOSING, StateEvent.EMPTIED): QueueState.CLOSED,
    (QueueState.CLOSED, StateEvent.OPEN): QueueState.OPEN,
    (QueueState.CLOSED, StateEvent.CLOSE): QueueState.CLOSED,
    (QueueState.CLOSED, StateEvent.EMPTIED): QueueState.CLOSED,
}
"""Where each event leads; a pair that is missing is refused."""


def advance(state: QueueState, event: StateEvent) -> QueueState:
    """The state after an event. Raises QueueStateConflict if the event is not for this state."""
    if (following := TRANSITIONS.get((state, event))) is None:
        raise QueueStateConflict(f"cannot {event} a queue that is {state}; open it first")
    return following


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A place in the quota tree of a cluster."""

    name: str
    cluster: str
    namespace: str = DEFAULT_NAMESPACE
    quota_type: QuotaType = QuotaType.ELASTIC
    isolation: Isolation = Isolation.LOGICAL
    parent: str = ""
    """The queue above; empty at the top."""
    min: Resources = NOTHING
    """Guaranteed; a demand on the queue above, or on the machines."""
    max: Resources = NOTHING
    """The ceiling it sets itself; where it sets none, the one above holds."""
    lend_limit: Resources = NOTHING
    """The most of `min` that others may borrow; where it is absent, all of it."""
    weight: int = DEFAULT_WEIGHT
    priority: int = 0
    preemption_policy: PreemptionPolicy = PreemptionPolicy.RECLAIM_AND_PRIORITY
    order_policy: OrderPolicy = OrderPolicy.BEST_EFFORT
    max_jobs: int = 0
    """0 means no limit."""
    max_per_user: Resources = NOTHING
    max_jobs_per_user: int = 0
    """0 means no limit."""
    labels: Mapping[str, str] = field(default_factory=dict)
    state: QueueState = QueueState.OPEN
    create_time: datetime = UNBORN
    update_time: datetime = UNBORN
    version: int = 0
    """Grows with every change, also over deletion and creation anew: numbers are not given out twice."""

    @property
    def etag(self) -> str:
        return f"{self.version:x}"

    @property
    def capability(self) -> bool:
        return self.quota_type is QuotaType.CAPABILITY

    @property
    def physical(self) -> bool:
        return self.isolation is Isolation.PHYSICAL


@dataclass(frozen=True, slots=True)
class Standing:
    """A queue as it stands in its tree."""

    queue: Queue
    effective_max: Resources
    """The ceiling after inheritance. At the top, what a queue does not limit is limited by the machines reported."""
    used: Resources | None = None
    """What workloads hold of it, those in the queues below it included; None if nobody has looked."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Queues of one place in a tree that are left out, but for what they are guaranteed."""

    parent: str
    """The queue directly above them; empty at the top."""
    guaranteed: Resources
    """Their guarantees together; at the top, of those that share machines."""


NOBODY = Beside("", NOTHING)


@dataclass(frozen=True, slots=True)
class Kin:
    """What it takes to judge a change of one queue. There may be a thousand queues beside it, so they are a sum."""

    queues: Sequence[Queue]
    beside: Beside


@dataclass(frozen=True, slots=True)
class Promises:
    """What the queues at the top of a cluster are guaranteed."""

    shared: Resources
    """By the machines that are dedicated to nobody, together."""
    isolated: Mapping[str, Resources]
    """By machines of their own, queue by queue."""


@dataclass(frozen=True, slots=True)
class QueueFilter:
    """Which queues to list; what is None or empty matches all."""

    names: frozenset[str] | None = None
    """Only these: what the caller may see."""
    cluster: str = ""
    namespace: str = ""
    parent: str = ""
    states: frozenset[QueueState] = frozenset()
    name_prefix: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueueChanged:
    """Something happened to a queue."""

    kind: ChangeKind
    standing: Standing
    """The queue after it; for a deletion, before it."""
    version: int
