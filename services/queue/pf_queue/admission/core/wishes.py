"""What those who wait want, and in which order they get it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from pf_queue.admission.core.amounts import Vector
from pf_queue.admission.core.places import Reach

Order: TypeAlias = tuple[int, int, int]
"""How workloads of one queue are ordered: by negative priority, time in microseconds, and number of submission."""
Key: TypeAlias = tuple[int, float, int, int, int, int]
"""How candidates of one place are ordered: by tier, share, negative priority of the queue, and their order."""


class Tier(IntEnum):
    """What is served before what, whoever asks."""

    BASE = 0
    """What a workload cannot run without."""
    SURPLUS = 1
    """What it can make use of."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What a group of workloads wants of a place. There is one object of each, so that they are quickly compared."""

    tier: Tier
    amounts: Vector
    need: Vector
    """What of the amounts must come from the place itself; the rest is there already, further down."""
    reach: Reach
    user: str = ""
    """Who wants it, at queues that limit their users; else empty."""
    own: bool = False
    """True for those who wait at the place itself, False for those who wait below."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What one workload wants."""

    id: str
    queue: str
    user: str
    tier: Tier
    amounts: Vector
    order: Order
