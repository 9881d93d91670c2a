"""Schedules: when versions of pipelines run by themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypedDict


class ConcurrencyPolicy(StrEnum):
    """What happens at a tick when as many runs as may are under way."""

    UNSPECIFIED = ""
    """SUSPEND."""
    SUSPEND = "suspend"
    """It waits until one is over."""
    SKIP = "skip"
    REPLACE = "replace"
    """The oldest of them are stopped."""


class Catchup(StrEnum):
    """What becomes of ticks that were missed."""

    UNSPECIFIED = ""
    """ALL."""
    NONE = "none"
    ONE = "one"
    """Only the last of them gets a run."""
    ALL = "all"


class ScheduleState(StrEnum):
    """Where a schedule stands."""

    UNSPECIFIED = ""
    RUNNING = "running"
    PAUSED = "paused"
    SUCCESS = "success"
    """Over: past its end."""
    FAILED = "failed"
    TERMINATED = "terminated"

    @property
    def over(self) -> bool:
        """True if it is never left."""
        return self in SCHEDULES_OVER


SCHEDULES_OVER = (ScheduleState.SUCCESS, ScheduleState.FAILED, ScheduleState.TERMINATED)
"""States that are never left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When a version of a pipeline runs by itself."""

    name: str
    pipeline_id: str
    pipeline_version: int = 0
    """0 at creation: the newest of that time."""
    crontab: str = ""
    """Five fields, ``@daily`` and the like, or ``@every 90s``."""
    time_zone: str = ""
    """By its IANA name. Empty: that of `crontab`, or else UTC."""
    description: str = ""
    owner: str = ""
    """Empty at creation: the caller."""
    start_time: datetime | None = None
    end_time: datetime | None = None
    concurrency: int = 0
    """How many of its runs may be under way; 0: any number."""
    concurrency_policy: ConcurrencyPolicy = ConcurrencyPolicy.UNSPECIFIED
    expire_interval: timedelta = timedelta()
    """After it a tick that was missed is passed over; 0: never. In whole seconds."""
    catchup: Catchup = Catchup.UNSPECIFIED
    parameters: Mapping[str, object] = field(default_factory=dict)
    id: str = ""
    """Output only, as all that follows."""
    state: ScheduleState = ScheduleState.UNSPECIFIED
    message: str = ""
    next_time: datetime | None = None
    create_time: datetime | None = None
    update_time: datetime | None = None
    version: int = 0


@dataclass(frozen=True, slots=True)
class BackfilledTick:
    """What became of one tick in the past."""

    time: datetime | None
    run_id: str
    """Empty in a dry run for a tick that would get a new one."""
    new: bool


class BackfillOptions(TypedDict, total=False):
    """How ticks in the past are made up for."""

    reverse: bool
    """True to make the newest first."""
    again: bool
    """True to make runs also for ticks whose last run failed or was stopped."""
    dry_run: bool


class ScheduleFilter(TypedDict, total=False):
    """Which schedules to list; filters that are given must all match."""

    owners: Sequence[str]
    names: Sequence[str]
    pipeline_ids: Sequence[str]
    pipeline_versions: Sequence[int]
    states: Sequence[ScheduleState]
