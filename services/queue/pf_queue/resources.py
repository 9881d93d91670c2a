"""Amounts of resources: whole numbers, so that sums never drift."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

LARGEST = 10**18
"""The largest amount. Two of them still fit into the 64 bits that they have on the wire."""
MOST_NAMES = 64
NAME = re.compile(r"[A-Za-z0-9./_-]{1,128}")

CPU = "cpu"
"""In thousandths of a core."""
MEMORY = "memory"
"""In bytes."""

_MEMORY_UNITS = {"Ei": 2**60, "Pi": 2**50, "Ti": 2**40, "Gi": 2**30, "Mi": 2**20, "Ki": 2**10}


@dataclass(frozen=True, slots=True)
class Excess:
    """An amount that is more than it may be."""

    resource: str
    amount: int
    limit: int | None
    """None: the resource is not declared."""


class Resources(Mapping[str, int]):
    """Amount by resource name, in the order of names; a value, never changed.

    What an absent name means depends on what the amounts are for. Of a *demand* (a guarantee, what is used) it is 0:
    ask with `amount`. Of a *limit* (a ceiling) it means that the resource is not declared: ask with `in`.
    """

    __slots__ = ("_amounts",)

    def __init__(self, amounts: Mapping[str, int] | None = None) -> None:
        self._amounts = dict(sorted(amounts.items())) if amounts else {}

    def __getitem__(self, name: str) -> int:
        return self._amounts[name]

    def __contains__(self, name: object) -> bool:
        return name in self._amounts

    def __iter__(self) -> Iterator[str]:
        return iter(self._amounts)

    def __len__(self) -> int:
        return len(self._amounts)

    def __hash__(self) -> int:
        return hash(frozenset(self._amounts.items()))

    def __repr__(self) -> str:
        return f"Resources({self._amounts})"

    def plain(self) -> dict[str, int]:
        """A copy as JSON takes it; many times as fast as `dict`, which asks for one amount after the other."""
        return self._amounts.copy()

    def amount(self, name: str) -> int:
        """The amount demanded of a resource."""
        return self._amounts.get(name, 0)

    def over(self, below: Resources) -> Resources:
        """These limits, and those below where nothing is declared here."""
        return Resources(below._amounts | self._amounts)

    def replaced(self, name: str, amount: int | None) -> Resources:
        """The same with another amount for one resource, or without it."""
        others = {other: kept for other, kept in self._amounts.items() if other != name}
        return Resources(others if amount is None else others | {name: amount})

    def above(self, demand: Resources) -> Iterator[Excess]:
        """Where these amounts are above those of a demand."""
        for name, amount in self._amounts.items():
            if amount > demand.amount(name):
                yield Excess(name, amount, demand.amount(name))

    def beyond(self, limit: Resources) -> Iterator[Excess]:
        """Where these amounts are above a limit, or name what it does not declare."""
        for name, amount in self._amounts.items():
            if name not in limit:
                yield Excess(name, amount, None)
            elif amount > limit[name]:
                yield Excess(name, amount, limit[name])

    def less(self, demands: Iterable[Resources]) -> Resources:
        """A demand without some that are a part of it; what nothing is left of, is not named any more."""
        part = Resources.total(demands)
        left = {name: amount - part.amount(name) for name, amount in self._amounts.items()}
        return Resources({name: amount for name, amount in left.items() if amount})

    @classmethod
    def total(cls, demands: Iterable[Resources]) -> Resources:
        """The sum of demands."""
        sums: dict[str, int] = {}
        for demand in demands:
            for name, amount in demand.items():
                sums[name] = sums.get(name, 0) + amount
        return cls(sums)


NOTHING = Resources()


def readable(name: str, amount: int) -> str:
    """An amount in the largest unit that shows it exactly, for example ``1.5 cores``, ``20Gi`` or ``8``."""
    if name == CPU:
        return f"{_decimal(amount, 1000)} core{'' if amount == 1000 else 's'}"
    if name != MEMORY:
        return str(amount)
    for unit, size in _MEMORY_UNITS.items():
        if amount >= size and amount * 1000 % size == 0:
            return f"{_decimal(amount, size)}{unit}"
    return f"{amount} byte{'' if amount == 1 else 's'}"


def _decimal(amount: int, unit: int) -> str:
    whole, rest = divmod(amount * 1000 // unit, 1000)
    return f"{whole}.{rest:03}".rstrip("0").rstrip(".")
