"""How often what was asked, how long the answers took and how they failed.

Answers of the serving thread are counted without a lock, those of other threads under one.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass

from pf_fuse.kernel.wire import ASKS, Ask

SPANS = 48
"""Span n holds what took less than 2 ** n nanoseconds, and not less than half of that; the last is days."""


@dataclass(frozen=True, slots=True)
class Figure:
    """What is known of one kind of request."""

    count: int
    failed: dict[int, int]
    """How often with which number of an error."""
    total: int
    """Nanoseconds of all together."""
    spans: tuple[int, ...]

    def within(self, share: float) -> int:
        """Nanoseconds within which this share of them was answered: a power of two, so at most twice what it is."""
        left = share * sum(self.spans)
        for span, count in enumerate(self.spans):
            left -= count
            if left <= 0 and count:
                return int(1 << span)
        return 0


class Tally:
    """What one thread at a time counts."""

    __slots__ = ("failed", "spans", "totals")

    def __init__(self) -> None:
        self.spans = [[0] * SPANS for _ in range(ASKS)]
        self.totals = [0] * ASKS
        self.failed: Counter[tuple[int, int]] = Counter()

    def count(self, ask: int, took: int, error: int) -> None:
        """Nanoseconds, and 0 or the number of an error."""
        self.spans[ask][took.bit_length()] += 1
        self.totals[ask] += took
        if error:
            self.failed[ask, error] += 1


class Figures:
    """What the serving thread counted, and all others."""

    __slots__ = ("_lock", "_others", "serving")

    def __init__(self) -> None:
        self.serving = Tally()
        self._others = Tally()
        self._lock = threading.Lock()

    def count_late(self, ask: int, took: int, error: int) -> None:
        """From any thread."""
        with self._lock:
            self._others.count(ask, took, error)

    def now(self) -> dict[str, Figure]:
        """By the name of what was asked, those only that were."""
        with self._lock:
            found = {ask.name.lower(): self._of(ask) for ask in Ask}
        return {name: figure for name, figure in found.items() if figure.count}

    def _of(self, ask: Ask) -> Figure:
        tallies = (self.serving, self._others)
        spans = tuple(sum(both) for both in zip(*(tally.spans[ask] for tally in tallies), strict=True))
        failed: Counter[int] = Counter()
        for tally in tallies:
            failed.update({error: count for (of, error), count in list(tally.failed.items()) if of == ask})
        return Figure(sum(spans), dict(failed), sum(tally.totals[ask] for tally in tallies), spans)
