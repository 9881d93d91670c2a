"""What was agreed on with whoever asked for a job."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

BACKOFF = timedelta(seconds=10)
LONGEST_BACKOFF = timedelta(minutes=10)
MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Terms:
    """What was agreed on when the job was taken."""

    retries: int = 0
    backoff: timedelta = BACKOFF
    max_backoff: timedelta = LONGEST_BACKOFF
    final_statuses: frozenset[int] = frozenset()
    """Exit statuses after which it is not tried again."""
    requeue: bool = True
    """False if it ends when it is pushed out."""
    pending: timedelta | None = None
    """How long it may take until it runs for the first time."""
    run: timedelta | None = None
    """How long an attempt may run."""
    steady: timedelta = timedelta(0)
    """How long its crew stays as it is before it grows again."""


def backoff(terms: Terms, retries: int) -> timedelta:
    """How long a job waits before the next try."""
    # As numbers: no timedelta could hold some hours that are doubled 32 times.
    doubled = terms.backoff // MICROSECOND << retries
    return min(doubled, terms.max_backoff // MICROSECOND) * MICROSECOND
