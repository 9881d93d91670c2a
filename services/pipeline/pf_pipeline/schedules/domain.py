"""Schedules: when versions of pipelines run by themselves, and what became of their ticks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from pf_kit.changes import UNBORN, ChangeKind
from pf_pipeline.owners import Owner
from pf_pipeline.schedules.cron import Timetable, timetable


class ScheduleState(StrEnum):
    """Where a schedule stands."""

    RUNNING = "running"
    PAUSED = "paused"
    SUCCESS = "success"
    FAILED = "failed"
    TERMINATED = "terminated"


OVER = frozenset({ScheduleState.SUCCESS, ScheduleState.FAILED, ScheduleState.TERMINATED})
"""States that are never left."""
TRANSITIONS: Mapping[ScheduleState, frozenset[ScheduleState]] = {
    ScheduleState.RUNNING: frozenset({ScheduleState.PAUSED}) | OVER,
    ScheduleState.PAUSED: frozenset({ScheduleState.RUNNING, ScheduleState.TERMINATED}),
    **{state: frozenset() for state in OVER},
}


class Policy(StrEnum):
    """What happens at a tick when as many runs as may are under way."""

    SUSPEND = "suspend"
    SKIP = "skip"
    REPLACE = "replace"


class Catchup(StrEnum):
    """What becomes of ticks that were missed."""

    NONE = "none"
    ONE = "one"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When a schedule makes runs."""

    crontab: str
    time_zone: str = ""
    start: datetime
    """No tick before. Intervals are counted from it."""
    end: datetime | None = None
    concurrency: int = 0
    """How many runs may be under way; 0: any number."""
    policy: Policy = Policy.SUSPEND
    expire: timedelta = timedelta(0)
    """After this time a tick that got no run is passed over; 0: never."""
    catchup: Catchup = Catchup.ALL

    @property
    def timetable(self) -> Timetable:
        """Raises CrontabError, or UnknownZone."""
        return timetable(self.crontab, self.time_zone, self.start)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a schedule stands."""

    state: ScheduleState = ScheduleState.RUNNING
    message: str = ""
    next_time: datetime | None = None
    """The first tick of which it is not settled what becomes of it."""
    wake_time: datetime | None = None
    """When it is to be looked at; None: only when somebody says so."""
    looked_time: datetime = UNBORN
    """When it was looked at last. Ticks until then were not missed."""

    @property
    def blocked(self) -> bool:
        """Ticks wait until a run is over."""
        waits = self.next_time is not None and self.next_time <= self.looked_time
        return waits and self.state is ScheduleState.RUNNING


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A version of a pipeline that runs by the clock, in the name of its owner."""

    id: str
    owner: str
    owner_since: datetime = UNBORN
    """See `Owner`."""
    name: str
    description: str = ""
    pipeline_id: str
    pipeline_version: int
    parameters: Mapping[str, object] = field(default_factory=dict)
    rule: Rule
    standing: Standing = Standing()
    number: int = 0
    """Grows with each schedule that is made."""
    create_time: datetime = UNBORN
    update_time: datetime = UNBORN
    version: int = 0

    @property
    def whose(self) -> Owner:
        return Owner(self.owner, self.owner_since)


@dataclass(frozen=True, slots=True, order=True)
class TickKey:
    """One tick of one schedule."""

    schedule: str
    time: datetime


@dataclass(frozen=True, slots=True)
class Tick:
    """What became of a tick."""

    key: TickKey
    run: str
    skipped: bool = False
    """Its run never ran, and only tells that the tick was passed over."""


@dataclass(frozen=True, slots=True)
class ScheduleChanged:
    """A schedule is new, stands elsewhere, or is forgotten."""

    kind: ChangeKind
    schedule: Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleFilter:
    """Which schedules to list. Empty fields match all; all must match."""

    seen_by: Owner | None = None
    """Only those of this user."""
    owners: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    pipeline_ids: frozenset[str] = frozenset()
    pipeline_versions: frozenset[int] = frozenset()
    states: frozenset[ScheduleState] = frozenset()
