"""Schedules in Postgres."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from paddleflow.problems import Conflict, ScheduleExists
from pf_kit.postgres.queries import load_queries
from pf_kit.postgres.views import Row, on_constraint, rows
from pf_kit.unit import Change, View
from pf_pipeline.owners import Owner
from pf_pipeline.schedules.domain import (
    Catchup,
    Policy,
    Rule,
    Schedule,
    ScheduleFilter,
    ScheduleState,
    Standing,
    Tick,
    TickKey,
)
from pf_pipeline.schedules.store import MOST_USERS


class PostgresScheduleStore:
    """Fulfils `ScheduleStore` over a `PostgresDatabase`."""

    def __init__(self) -> None:
        self._sql: Mapping[str, str] = load_queries("pf_pipeline.schedules")

    async def new_id(self, change: Change) -> str:
        return f"schedule-{await rows(change).fetchval(self._sql['new_id']):06d}"

    async def add(self, change: Change, schedule: Schedule) -> Schedule:
        taken = ScheduleExists(f"{schedule.owner} has a schedule {schedule.name!r}; choose another name")
        with on_constraint(schedules_name=taken):
            added = await rows(change).fetch(self._sql["add"], *_whole(schedule), change.time)
        number, version = added[0]["number"], added[0]["version"]
        return replace(schedule, number=number, version=version, create_time=change.time, update_time=change.time)

    async def schedules(self, view: View, ids: Collection[str]) -> Sequence[Schedule]:
        return [_schedule(row) for row in await rows(view).fetch(self._sql["schedules"], list(ids))]

    async def page(self, view: View, chosen: ScheduleFilter, before: int, limit: int) -> Sequence[Schedule]:
        found = await rows(view).fetch(
            self._sql["page"],
            before,
            _some(chosen.owners),
            _some(chosen.names),
            _some(chosen.pipeline_ids),
            _some(chosen.pipeline_versions),
            _some(chosen.states),
            limit,
            chosen.seen_by and chosen.seen_by.name,
            chosen.seen_by and chosen.seen_by.since,
        )
        return [_schedule(row) for row in found]

    async def save(self, change: Change, schedules: Sequence[Schedule]) -> Sequence[Schedule]:
        standing = [(schedule.id, *_standing(schedule.standing)) for schedule in schedules]
        saved = await rows(change).fetch(self._sql["save"], *_columns(standing, 6), change.time)
        versions = {row["id"]: row["version"] for row in saved}
        return [replace(schedule, version=versions[schedule.id], update_time=change.time) for schedule in schedules]

    async def remove(self, change: Change, id_: str) -> None:
        await rows(change).execute(self._sql["remove"], id_)

    async def owners(self, view: View) -> Sequence[Owner]:
        return [Owner(row["owner"], row["owner_since"]) for row in await rows(view).fetch(self._sql["owners"])]

    async def owned(self, view: View, owner: Owner, limit: int) -> Sequence[Schedule]:
        found = await rows(view).fetch(self._sql["owned"], owner.name, owner.since, limit)
        return [_schedule(row) for row in found]

    async def due(self, view: View, now: datetime, limit: int) -> Sequence[str]:
        return [row["id"] for row in await rows(view).fetch(self._sql["due"], now, limit)]

    async def next_wake(self, view: View) -> datetime | None:
        time: datetime | None = await rows(view).fetchval(self._sql["next_wake"])
        return time

    async def blocked(self, view: View, after: str, limit: int) -> Sequence[Schedule]:
        return [_schedule(row) for row in await rows(view).fetch(self._sql["blocked"], after, limit)]

    async def ticks(self, view: View, keys: Collection[TickKey]) -> Sequence[Tick]:
        wanted = _columns([(key.schedule, key.time) for key in keys], 2)
        found = await rows(view).fetch(self._sql["ticks"], *wanted)
        return [Tick(TickKey(row["schedule"], row["time"]), row["run"], row["skipped"]) for row in found]

    async def keep_ticks(self, change: Change, ticks: Sequence[Tick]) -> None:
        with on_constraint(schedule_ticks_pkey=Conflict()):
            await rows(change).execute(self._sql["keep_ticks"], *_tick_columns(ticks))

    async def replace_ticks(self, change: Change, ticks: Sequence[Tick]) -> None:
        await rows(change).execute(self._sql["replace_ticks"], *_tick_columns(ticks))

    async def users(self, view: View, pipeline_id: str, version: int) -> Sequence[str]:
        return [row["name"] for row in await rows(view).fetch(self._sql["users"], pipeline_id, version, MOST_USERS)]


def _some(values: Collection[str] | Collection[int]) -> Sequence[str | int] | None:
    return sorted(values) or None


def _columns(values: Iterable[Sequence[object]], width: int) -> Sequence[Sequence[object]]:
    """The same, column by column."""
    return [list(column) for column in zip(*values, strict=True)] or [[]] * width


def _tick_columns(ticks: Sequence[Tick]) -> Sequence[Sequence[object]]:
    return _columns([(tick.key.schedule, tick.key.time, tick.run, tick.skipped) for tick in ticks], 4)


def _whole(schedule: Schedule) -> Sequence[object]:
    """The values of the columns of `schedules`, in the order in which the query names them."""
    rule = schedule.rule
    return (
        schedule.id,
        schedule.owner,
        schedule.owner_since,
        schedule.name,
        schedule.description,
        schedule.pipeline_id,
        schedule.pipeline_version,
        dict(schedule.parameters),
        rule.crontab,
        rule.time_zone,
        rule.start,
        rule.end,
        rule.concurrency,
        rule.policy,
        rule.expire,
        rule.catchup,
        *_standing(schedule.standing),
    )


def _standing(standing: Standing) -> Sequence[object]:
    return standing.state, standing.message, standing.next_time, standing.wake_time, standing.looked_time


def _schedule(row: Row) -> Schedule:
    return Schedule(
        id=row["id"],
        owner=row["owner"],
        owner_since=row["owner_since"],
        name=row["name"],
        description=row["description"],
        pipeline_id=row["pipeline"],
        pipeline_version=row["pipeline_version"],
        parameters=row["parameters"],
        rule=_rule(row),
        standing=Standing(
            state=ScheduleState(row["state"]),
            message=row["message"],
            next_time=row["next_time"],
            wake_time=row["wake_time"],
            looked_time=row["looked_time"],
        ),
        number=row["number"],
        create_time=row["create_time"],
        update_time=row["update_time"],
        version=row["version"],
    )


def _rule(row: Row) -> Rule:
    return Rule(
        crontab=row["crontab"],
        time_zone=row["time_zone"],
        start=row["start_time"],
        end=row["end_time"],
        concurrency=row["concurrency"],
        policy=Policy(row["policy"]),
        expire=row["expire"],
        catchup=Catchup(row["catchup"]),
    )
