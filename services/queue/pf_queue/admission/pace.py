"""How fast queues have moved lately."""

from __future__ import annotations

from collections import Counter, deque

SECOND = 1_000_000
WINDOW = 60
"""Seconds that are looked back."""


class Pace:
    """Counts what happened in each queue in the last minute, by seconds."""

    def __init__(self) -> None:
        self._seconds: deque[tuple[int, Counter[str]]] = deque()

    def add(self, queue: str, now: int) -> None:
        second = now // SECOND
        if not self._seconds or self._seconds[-1][0] < second:
            self._seconds.append((second, Counter()))
        self._seconds[-1][1][queue] += 1
        self._forget(now)

    def lately(self, now: int) -> Counter[str]:
        """How often it happened, by queue."""
        self._forget(now)
        total: Counter[str] = Counter()
        for _, counts in self._seconds:
            total.update(counts)
        return total

    def of(self, queue: str, now: int) -> int:
        """How often it happened in one queue."""
        self._forget(now)
        return sum(counts[queue] for _, counts in self._seconds)

    def _forget(self, now: int) -> None:
        while self._seconds and self._seconds[0][0] <= now // SECOND - WINDOW:
            self._seconds.popleft()
