"""What the machines of a pool could hold if they were empty: nothing is placed here, only the impossible is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from pf_queue.admission.core.amounts import JOBS, Space, Vector


class Machines:
    """Machines by size; a value, never changed."""

    def __init__(self, space: Space, sizes: Iterable[Mapping[str, int]]) -> None:
        self._sizes = tuple(sorted(Counter(space.demand(size) for size in sizes).items()))
        self._rooms: dict[Vector, int] = {}

    def room(self, each: Vector) -> int:
        """How many replicas of one kind they could hold."""
        room = self._rooms.get(each)
        if room is None:
            room = self._rooms[each] = sum(count * _fit(size, each) for size, count in self._sizes)
        return room

    def nearest(self, each: Vector) -> Vector | None:
        """The machine that lacks the least for a replica; None if there are no machines."""
        sizes = [size for size, _ in self._sizes]
        return min(sizes, key=lambda size: _shortfall(size, each), default=None)


NO_LIMIT = 2**31
"""Replicas of nothing; no workload has so many."""


def _fit(size: Vector, each: Vector) -> int:
    return min(
        (has // amount for has, amount in zip(size[JOBS + 1 :], each[JOBS + 1 :], strict=True) if amount),
        default=NO_LIMIT,
    )


def _shortfall(size: Vector, each: Vector) -> float:
    return max((amount / max(1, has) for has, amount in zip(size, each, strict=True) if amount), default=0.0)
