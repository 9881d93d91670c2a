"""Makes runs for ticks in the past."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from paddleflow.problems import InvalidArgument, Violation
from pf_kit.unit import Change
from pf_pipeline.schedules.domain import Schedule, Tick, TickKey
from pf_pipeline.schedules.ports import RunMaker, Wanted
from pf_pipeline.schedules.store import ScheduleStore
from pf_pipeline.schedules.ticks import ticks_from

MOST_TICKS = 1000
"""Of one request."""
_MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Which ticks are meant."""

    since: datetime
    until: datetime
    reverse: bool = False
    """The newest first."""
    again: bool = False
    """Also those whose run failed or was stopped."""


@dataclass(frozen=True, slots=True)
class Filled:
    """What became of one tick."""

    time: datetime
    run: str
    """Empty: it would get one."""
    new: bool


class Backfill:
    """Makes runs for ticks that have none. Neither concurrency nor expiry count: somebody wants these runs."""

    def __init__(self, *, store: ScheduleStore, runs: RunMaker) -> None:
        self._store = store
        self._runs = runs

    async def plan(self, change: Change, schedule: Schedule, span: Span) -> Sequence[Filled]:
        """What would become of each tick."""
        times = _times(schedule, span, change.time)
        ticks = await self._store.ticks(change, [TickKey(schedule.id, time) for time in times])
        kept = {tick.key.time: tick.run for tick in ticks if not tick.skipped}
        failed: Collection[str] = await self._runs.failed(change, list(kept.values())) if span.again else ()
        runs = {time: run for time, run in kept.items() if run not in failed}
        return [Filled(time, runs.get(time, ""), time not in runs) for time in times]

    async def fill(self, change: Change, schedule: Schedule, span: Span) -> Sequence[Filled]:
        """Makes the runs."""
        planned = await self.plan(change, schedule, span)
        new = [each.time for each in planned if each.new]
        made = await self._runs.make(change, [Wanted(schedule, time) for time in new])
        runs = dict(zip(new, made, strict=True))
        await self._store.replace_ticks(change, [Tick(TickKey(schedule.id, time), run) for time, run in runs.items()])
        return [Filled(each.time, runs.get(each.time, each.run), each.new) for each in planned]


def _times(schedule: Schedule, span: Span, now: datetime) -> list[datetime]:
    if span.until > now:
        raise InvalidArgument.of(Violation("until", "must not be later than now"))
    if span.since > span.until:
        raise InvalidArgument.of(Violation("from", "must not be later than `until`"))
    timetable = schedule.rule.timetable
    times = list(islice(ticks_from(timetable, timetable.after(span.since - _MOMENT), span.until), MOST_TICKS + 1))
    if len(times) > MOST_TICKS:
        raise InvalidArgument.of(Violation("until", f"leaves more than {MOST_TICKS} ticks; ask for a smaller range"))
    return times[::-1] if span.reverse else times
