"""Schedules in the words of the original, for its interface and for the command line."""

from __future__ import annotations

from typing import Any

from paddleflow.models.schedules import Catchup, ConcurrencyPolicy, Schedule


def options_of(schedule: Schedule) -> dict[str, Any]:
    """How a schedule reads its crontab, and treats ticks that cannot have their runs at once."""
    return {
        "catchup": str(schedule.catchup or Catchup.ALL),
        "expireInterval": int(schedule.expire_interval.total_seconds()),
        "concurrency": schedule.concurrency,
        "concurrencyPolicy": str(schedule.concurrency_policy or ConcurrencyPolicy.SUSPEND),
        **({"timeZone": schedule.time_zone} if schedule.time_zone else {}),
    }


def fs_config(schedule: Schedule) -> dict[str, str]:
    """In whose name its runs use filesystems."""
    return {"username": schedule.owner}
