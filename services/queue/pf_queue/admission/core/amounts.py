"""Amounts of all resources of a pool at once, as tuples of whole numbers: decisions are made on nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Vector: TypeAlias = tuple[int, ...]
"""One amount for each resource of a space, in its order."""

UNLIMITED = 2**62
"""A ceiling that is none; sums of real amounts stay far below."""
JOBS = 0
"""Where in a vector workloads are counted: a limit on their number is one more ceiling."""


@dataclass(frozen=True, slots=True)
class Space:
    """The resources of a pool, in the order of their vectors; the first place is the count of workloads."""

    names: tuple[str, ...]
    known: frozenset[str] = field(repr=False, compare=False)
    """The same, to look names up."""

    @classmethod
    def of(cls, names: Iterable[str]) -> Space:
        known = frozenset(names)
        return cls(("", *sorted(known)), known)

    @property
    def nothing(self) -> Vector:
        return (0,) * len(self.names)

    def demand(self, amounts: Mapping[str, int], jobs: int = 0) -> Vector:
        """What is absent is 0. KeyError if something is asked for that this space does not have."""
        if not self.known.issuperset(amounts) and (strange := self._strange(amounts)):
            raise KeyError(*strange)
        return (jobs, *(amounts.get(name, 0) for name in self.names[1:]))

    def _strange(self, amounts: Mapping[str, int]) -> list[str]:
        """What is asked for that there is not; nothing of it can be had."""
        return sorted(name for name, amount in amounts.items() if amount and name not in self.known)

    def ceiling(self, amounts: Mapping[str, int], jobs: int = 0) -> Vector:
        """What is absent is unlimited, and so is a count of 0."""
        return (jobs or UNLIMITED, *(amounts.get(name, UNLIMITED) for name in self.names[1:]))

    def named(self, vector: Vector) -> dict[str, int]:
        """The amounts that are not 0, by resource."""
        return {name: amount for name, amount in zip(self.names[1:], vector[1:], strict=True) if amount}


def plus(one: Vector, other: Vector) -> Vector:
    return tuple(a + b for a, b in zip(one, other, strict=True))


def times(vector: Vector, count: int) -> Vector:
    return tuple(amount * count for amount in vector)


def within(vector: Vector, limit: Vector) -> bool:
    """True if no amount is above its limit."""
    return all(amount <= most for amount, most in zip(vector, limit, strict=True))
