"""Which ticks of a schedule get a run, are passed over or wait: decided from values only."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice

from pf_pipeline.schedules.cron import Timetable
from pf_pipeline.schedules.domain import Catchup, Policy, Rule, ScheduleState, Standing

GRACE = timedelta(minutes=1)
"""A tick that is looked at within this time was not missed."""
MOST_TICKS = 100
"""Settled at once; the others directly afterwards."""
_MOMENT = timedelta(microseconds=1)
_SECOND = timedelta(seconds=1)


class Outcome(StrEnum):
    """What becomes of a tick."""

    RUN = "run"
    SKIP = "skip"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class Ruling:
    """What becomes of one tick."""

    time: datetime
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of the ticks that are due, and of the schedule."""

    rulings: tuple[Ruling, ...]
    stop: int
    """So many of its runs are to be stopped, the oldest first."""
    standing: Standing


def ticks_from(timetable: Timetable, first: datetime | None, until: datetime) -> Iterator[datetime]:
    """A tick and those that follow it, until a time."""
    tick = first
    while tick is not None and tick <= until:
        yield tick
        tick = timetable.after(tick)


def first_tick(rule: Rule, timetable: Timetable) -> datetime | None:
    """The first tick of a schedule; None if it has none."""
    return _not_past(timetable.after(rule.start - _MOMENT), rule)


def look(
    rule: Rule, timetable: Timetable, standing: Standing, *, now: datetime, active: int, settled: Collection[datetime]
) -> Decision:
    """What becomes of the ticks of a schedule that are due; `settled` are those that became something already."""
    last = min(now, rule.end) if rule.end else now
    first = _caught_up(rule, timetable, standing, now)
    # As many more as can get a run, since only the newest do if a schedule replaces its runs.
    known = list(islice(ticks_from(timetable, first, last), MOST_TICKS + rule.concurrency + 1))
    due = [tick for tick in known if tick not in settled]
    ruled = rulings(rule, due, now, active)
    if len(known) > MOST_TICKS + rule.concurrency:
        known = known[:MOST_TICKS]
        ruled = [ruling for ruling in ruled if ruling.time <= known[-1]]
    runs = sum(ruling.outcome is Outcome.RUN for ruling in ruled)
    stop = (
        max(0, active + runs - rule.concurrency) if runs and rule.policy is Policy.REPLACE and rule.concurrency else 0
    )
    waiting = next((ruling.time for ruling in ruled if ruling.outcome is Outcome.WAIT), None)
    following = _not_past(timetable.after(known[-1]) if known else first, rule)
    return Decision(tuple(ruled), stop, _stands(rule, timetable, standing, waiting, following, now))


def rulings(rule: Rule, due: Sequence[datetime], now: datetime, active: int) -> list[Ruling]:
    """What becomes of ticks that are due while so many runs are under way."""
    fresh = [tick for tick in due if not rule.expire or tick + rule.expire >= now]
    room = max(0, rule.concurrency - active)
    if not rule.concurrency:
        running = set(fresh)
    elif rule.policy is Policy.REPLACE:
        running = set(fresh[-rule.concurrency :])
    else:
        running = set(fresh[:room])
    other = Outcome.WAIT if rule.policy is Policy.SUSPEND else Outcome.SKIP
    late = set(due) - set(fresh)
    return [Ruling(tick, Outcome.RUN if tick in running else Outcome.SKIP if tick in late else other) for tick in due]


def last_tick(timetable: Timetable, until: datetime, since: datetime) -> datetime | None:
    """The last tick until a time; None if there is none after another time."""
    low, high = since, until
    if not _within(timetable.after(low), until):
        return None
    while high - low > _SECOND:
        middle = low + (high - low) / 2
        low, high = (middle, high) if _within(timetable.after(middle), until) else (low, middle)
    # What lies between the two is less than a second, and no two ticks are nearer.
    return timetable.after(low)


def _caught_up(rule: Rule, timetable: Timetable, standing: Standing, now: datetime) -> datetime | None:
    """The first tick that counts: those before it were missed, and are left out."""
    first, seen = standing.next_time, standing.looked_time
    if first is None or rule.catchup is Catchup.ALL:
        return first
    unseen = _not_past(timetable.after(max(seen, first - _MOMENT)), rule)
    if unseen is None or unseen >= now - GRACE:
        return first
    if rule.catchup is Catchup.NONE:
        return timetable.after(now - GRACE - _MOMENT)
    missed = min(now - GRACE - _MOMENT, rule.end) if rule.end else now - GRACE - _MOMENT
    return last_tick(timetable, missed, unseen - _MOMENT)


def _stands(
    rule: Rule,
    timetable: Timetable,
    standing: Standing,
    waiting: datetime | None,
    following: datetime | None,
    now: datetime,
) -> Standing:
    if waiting:
        # Looked at again at each tick, so that no tick that has to wait counts as missed.
        expired = waiting + rule.expire + _MOMENT if rule.expire else None
        wake = min(filter(None, (timetable.after(now), expired)), default=None)
        return replace(standing, next_time=waiting, wake_time=wake, looked_time=now)
    if following:
        return replace(standing, next_time=following, wake_time=following, looked_time=now)
    return replace(
        standing,
        state=ScheduleState.SUCCESS,
        message="there are no more ticks",
        next_time=None,
        wake_time=None,
        looked_time=now,
    )


def _not_past(tick: datetime | None, rule: Rule) -> datetime | None:
    return tick if tick and (rule.end is None or tick <= rule.end) else None


def _within(tick: datetime | None, until: datetime) -> bool:
    return tick is not None and tick <= until
