"""What asks for room, and what has it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from pf_queue.admission.core.amounts import Vector, plus, times
from pf_queue.admission.core.wishes import Order


@dataclass(frozen=True, slots=True)
class Role:
    """Replicas of one kind."""

    name: str
    least: int
    """Without which the workload cannot run."""
    most: int
    step: int
    """What is above the least comes and goes in multiples of this."""
    each: Vector
    """What one replica takes."""


@dataclass(frozen=True)
class Workload:
    """What admission sees of one attempt of a job. Times are microseconds."""

    id: str
    queue: str
    user: str
    priority: int
    roles: tuple[Role, ...]
    submitted: int
    number: int
    """Grows with each submission to the pool, so that of two at one moment one is first."""
    grace: int = 0
    """How long its processes have between the word to stop and the kill."""
    shield: int = 0
    """As long as it has not run this long, its base is not taken for others' sake."""
    not_before: int = 0

    @cached_property
    def base(self) -> Vector:
        """What it cannot run without; it counts as one job."""
        total: Vector = (1, *([0] * (len(self.roles[0].each) - 1)))
        for role in self.roles:
            total = plus(total, times(role.each, role.least))
        return total

    @property
    def order(self) -> Order:
        return (-self.priority, self.submitted, self.number)


class Why(StrEnum):
    """Why replicas are taken back."""

    SURPLUS = "surplus"
    RECLAIM = "reclaim"
    PRIORITY = "priority"
    DRAIN = "drain"


@dataclass(slots=True)
class Holding:
    """What a workload has. What is on its way out counts until it is given back."""

    workload: Workload
    since: int
    number: int
    """Grows with each admission of the pool."""
    surplus: list[int] = field(default_factory=list)
    """Replicas above the least, by role."""
    shrinking: list[int] = field(default_factory=list)
    """Of these, the ones on their way out."""
    leaving: bool = False
    """True if all of it is on its way out."""
    running: int | None = None
    """When it was reported running."""

    def shielded(self, now: int) -> bool:
        """True as long as its base must be left alone."""
        shield = self.workload.shield
        return shield > 0 and (self.running is None or now < self.running + shield)

    def taken_by(self, counts: list[int]) -> Vector:
        """What so many replicas of each role take."""
        total = times(self.workload.base, 0)
        for role, count in zip(self.workload.roles, counts, strict=True):
            if count:
                total = plus(total, times(role.each, count))
        return total

    @property
    def all(self) -> Vector:
        return plus(self.workload.base, self.taken_by(self.surplus)) if any(self.surplus) else self.workload.base

    @property
    def staying(self) -> Vector:
        """What it has beyond what is on its way out."""
        if self.leaving:
            return times(self.workload.base, 0)
        if not any(self.surplus):
            return self.workload.base
        return plus(
            self.workload.base, self.taken_by([a - b for a, b in zip(self.surplus, self.shrinking, strict=True)])
        )

    def growth(self) -> tuple[int, int] | None:
        """The role that can grow next, and by how many replicas; None if it has all it can use."""
        if self.leaving or any(self.shrinking):
            return None
        for index, (role, has) in enumerate(zip(self.workload.roles, self.surplus, strict=True)):
            if role.least + has + role.step <= role.most:
                return index, role.step
        return None
