"""When a call is tried again that failed since the service is away."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from paddleflow.problems import Aborted, DeadlineExceeded, Problem, ResourceExhausted, Unavailable
from paddleflow.training.shard import ShardOptions

FIRST_DELAY = 0.1
LONGEST_DELAY = 2.0
LAST_WORDS = 5.0
"""Seconds in which a trainer that leaves gives back what it has."""


@dataclass(frozen=True, slots=True)
class Trying:
    """How long a call has failed."""

    until: float
    """In `time.monotonic` seconds."""
    failures: int = 0

    @classmethod
    def patiently(cls, now: float, options: ShardOptions) -> Trying:
        return cls(now + options.get("patience", math.inf))

    def failed(self) -> Trying:
        return replace(self, failures=self.failures + 1)

    def delay(self, problem: Problem, now: float, chance: float) -> float:
        """Seconds to wait before the next try; raises the problem if there is no use in one. `chance` in 0..1 spreads
        those who failed together.
        """
        if not isinstance(problem, Unavailable | DeadlineExceeded | ResourceExhausted | Aborted) or now > self.until:
            raise problem
        doubled = min(FIRST_DELAY * 2 ** min(self.failures, 16), LONGEST_DELAY)
        return max(float(doubled), problem.retry_after or 0.0) * (0.5 + chance / 2)
