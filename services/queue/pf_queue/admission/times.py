"""Between the whole microseconds of decisions and the times of everything else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def micros(time: datetime) -> int:
    return (time - EPOCH) // MICROSECOND


def moment(time: int) -> datetime:
    return EPOCH + time * MICROSECOND
