"""Schedules in memory, for tests: as durable as the process."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from paddleflow.problems import Conflict, ScheduleExists
from pf_kit.memory import tables
from pf_kit.unit import Change, View
from pf_pipeline.owners import Owner
from pf_pipeline.schedules.domain import OVER, Schedule, ScheduleFilter, Tick, TickKey
from pf_pipeline.schedules.store import MOST_USERS


class MemoryScheduleStore:
    """Fulfils `ScheduleStore` over a `MemoryDatabase`."""

    async def new_id(self, change: Change) -> str:
        return f"schedule-{_next(change, 'schedule_ids'):06d}"

    async def add(self, change: Change, schedule: Schedule) -> Schedule:
        if any((each.whose, each.name) == (schedule.whose, schedule.name) for each in _schedules(change).values()):
            raise ScheduleExists(f"{schedule.owner} has a schedule {schedule.name!r}; choose another name")
        added = replace(
            schedule,
            number=_next(change, "schedule_numbers"),
            version=_next(change, "schedule_versions"),
            create_time=change.time,
            update_time=change.time,
        )
        _schedules(change)[schedule.id] = added
        return added

    async def schedules(self, view: View, ids: Collection[str]) -> Sequence[Schedule]:
        kept = _schedules(view)
        return [kept[id_] for id_ in sorted(kept) if id_ in ids]

    async def page(self, view: View, chosen: ScheduleFilter, before: int, limit: int) -> Sequence[Schedule]:
        newest = sorted(_schedules(view).values(), key=lambda schedule: -schedule.number)
        found = [each for each in newest if (not before or each.number < before) and all(_conditions(each, chosen))]
        return found[:limit]

    async def save(self, change: Change, schedules: Sequence[Schedule]) -> Sequence[Schedule]:
        saved = [
            replace(schedule, version=_next(change, "schedule_versions"), update_time=change.time)
            for schedule in schedules
        ]
        _schedules(change).update({schedule.id: schedule for schedule in saved})
        return saved

    async def remove(self, change: Change, id_: str) -> None:
        del _schedules(change)[id_]
        for key in [key for key in _ticks(change) if key.schedule == id_]:
            del _ticks(change)[key]

    async def owners(self, view: View) -> Sequence[Owner]:
        return sorted({each.whose for each in _schedules(view).values()})

    async def owned(self, view: View, owner: Owner, limit: int) -> Sequence[Schedule]:
        oldest = sorted(_schedules(view).values(), key=lambda schedule: schedule.number)
        return [each for each in oldest if each.whose == owner][:limit]

    async def due(self, view: View, now: datetime, limit: int) -> Sequence[str]:
        times = ((each.standing.wake_time, each.id) for each in _schedules(view).values())
        return [id_ for _, id_ in sorted((time, id_) for time, id_ in times if time and time <= now)][:limit]

    async def next_wake(self, view: View) -> datetime | None:
        times = (each.standing.wake_time for each in _schedules(view).values())
        return min((time for time in times if time), default=None)

    async def blocked(self, view: View, after: str, limit: int) -> Sequence[Schedule]:
        kept = _schedules(view)
        return [kept[id_] for id_ in sorted(kept) if id_ > after and kept[id_].standing.blocked][:limit]

    async def ticks(self, view: View, keys: Collection[TickKey]) -> Sequence[Tick]:
        return [tick for key, tick in _ticks(view).items() if key in keys]

    async def keep_ticks(self, change: Change, ticks: Sequence[Tick]) -> None:
        if any(tick.key in _ticks(change) for tick in ticks):
            raise Conflict
        await self.replace_ticks(change, ticks)

    async def replace_ticks(self, change: Change, ticks: Sequence[Tick]) -> None:
        _ticks(change).update({tick.key: tick for tick in ticks})

    async def users(self, view: View, pipeline_id: str, version: int) -> Sequence[str]:
        return sorted(
            each.name
            for each in _schedules(view).values()
            if each.pipeline_id == pipeline_id
            and version in (0, each.pipeline_version)
            and each.standing.state not in OVER
        )[:MOST_USERS]


def _schedules(view: View) -> dict[str, Schedule]:
    return tables(view).table("schedules")


def _ticks(view: View) -> dict[TickKey, Tick]:
    return tables(view).table("schedule_ticks")


def _next(change: Change, counter: str) -> int:
    counters: dict[str, int] = tables(change).table("counters")
    counters[counter] = counters.get(counter, 0) + 1
    return counters[counter]


def _conditions(schedule: Schedule, chosen: ScheduleFilter) -> Iterator[bool]:
    yield chosen.seen_by is None or schedule.whose.is_of(chosen.seen_by)
    yield not chosen.owners or schedule.owner in chosen.owners
    yield not chosen.names or schedule.name in chosen.names
    yield not chosen.pipeline_ids or schedule.pipeline_id in chosen.pipeline_ids
    yield not chosen.pipeline_versions or schedule.pipeline_version in chosen.pipeline_versions
    yield not chosen.states or schedule.standing.state in chosen.states
