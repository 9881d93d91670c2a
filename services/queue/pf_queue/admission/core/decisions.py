"""What a round decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from pf_queue.admission.core.workloads import Why


@dataclass(frozen=True, slots=True)
class Admit:
    """A workload may start with its least."""

    id: str


@dataclass(frozen=True, slots=True)
class Grow:
    """A workload may have more replicas of a role, which may be taken back at any time."""

    id: str
    role: int
    count: int


@dataclass(frozen=True, slots=True)
class Evict:
    """A workload must give back replicas; they count until it has."""

    id: str
    counts: tuple[int, ...] | None
    """Of the surplus of each role; None for all of the workload."""
    why: Why
    beneficiary: str
    """For whom; empty for nobody."""
    deadline: int


@dataclass(frozen=True, slots=True)
class Book:
    """Room is kept for a workload until it can start."""

    id: str
    deadline: int
    starving: bool
    """True if it was passed over for too long, and nobody leaves for it."""


@dataclass(frozen=True, slots=True)
class Unbook:
    """The room is kept no longer: those who had to leave did not in time."""

    id: str


Decision: TypeAlias = Admit | Grow | Evict | Book | Unbook
