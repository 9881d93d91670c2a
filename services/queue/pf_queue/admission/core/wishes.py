"""What those who wait want, and in which order they get it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from pf_queue.admission.core.amounts import Vector

Order: TypeAlias = tuple[int, int, int]
"""How workloads of one queue are ordered: by negative priority, time in microseconds, and number of submission."""


class Tier(IntEnum):
    """What is served before what, whoever asks."""

    BASE = 0
    """What a workload cannot run without."""
    SURPLUS = 1
    """What it can make use of."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What one workload wants."""

    id: str
    queue: str
    user: str
    tier: Tier
    amounts: Vector
    order: Order
