"""When shields end: who could not be taken because of one can be then."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heapify, heappop, heappush

from pf_queue.admission.core.workloads import Holding

FEW = 16
"""Ends that are kept in any case."""


class Shields:
    """Those of the holdings of a pool."""

    def __init__(self, holdings: Mapping[str, Holding]) -> None:
        self._holdings = holdings
        self._ends: list[tuple[int, str]] = []

    def __len__(self) -> int:
        return len(self._ends)

    @property
    def next(self) -> int | None:
        """When the next one ends; None if none does."""
        return self._ends[0][0] if self._ends else None

    def expect(self, holding: Holding) -> None:
        """Somebody runs, and may have a shield."""
        end = _end(holding)
        if end is not None:
            heappush(self._ends, (end, holding.workload.id))

    def ended(self, now: int) -> int:
        """How many have ended since somebody asked last."""
        count = 0
        while self._ends and self._ends[0][0] <= now:
            heappop(self._ends)
            count += 1
        return count

    def tidy(self) -> None:
        """Forgets those of workloads that are gone, when they are more than half of all."""
        if len(self._ends) > 2 * len(self._holdings) + FEW:
            self._ends = list({entry: None for entry in self._ends if self._holds(*entry)})
            heapify(self._ends)

    def _holds(self, end: int, id_: str) -> bool:
        holding = self._holdings.get(id_)
        return holding is not None and _end(holding) == end


def _end(holding: Holding) -> int | None:
    shield = holding.workload.shield
    return holding.running + shield if holding.running is not None and shield else None
