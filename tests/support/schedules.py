"""Schedules for tests, and where they are kept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import Any

from pf_kit.clock import Clock
from pf_kit.events import Fact
from pf_kit.memory import MemoryDatabase
from pf_kit.postgres.views import rows
from pf_kit.unit import Database
from pf_pipeline.schedules.convert import schedule_fact
from pf_pipeline.schedules.domain import Rule, Schedule, ScheduleChanged, Standing
from pf_pipeline.schedules.memory import MemoryScheduleStore
from pf_pipeline.schedules.postgres import PostgresScheduleStore
from pf_pipeline.schedules.store import ScheduleStore, schedule_lock
from pf_pipeline.schedules.ticking import Ticker
from support.databases import fresh_database, migrated
from support.fake_runs import TABLE, FakeRuns, MemoryFakeRuns, PostgresFakeRuns
from support.servers import PostgresServer

MIGRATIONS = files("pf_pipeline") / "sql" / "migrations"
START = datetime(2022, 6, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Kept:
    """Where schedules and their runs are kept."""

    database: Database
    store: ScheduleStore
    runs: FakeRuns

    def ticker(self, clock: Clock) -> Ticker:
        return Ticker(database=self.database, store=self.store, runs=self.runs, clock=clock)

    async def add(self, schedule: Schedule) -> Schedule:
        async with self.database.change(schedule_lock(schedule.id)) as change:
            return await self.store.add(change, schedule)

    async def end(self, run: str, state: str = "succeeded") -> None:
        async with self.database.change() as change:
            await self.runs.end(change, run, state)

    async def get(self, id_: str) -> Schedule:
        (found,) = await self.store.schedules(self.database.newest, [id_])
        return found


def a_schedule(id_: str = "schedule-000001", **rule: Any) -> Schedule:
    """A schedule of each minute that is looked at first a minute after its start."""
    fields = {"crontab": "* * * * *", "start": START, **rule}
    first = fields["start"] + MINUTE
    return Schedule(
        id=id_,
        owner="alice",
        name=id_.replace("-", "_"),
        pipeline_id="ppl-000001",
        pipeline_version=1,
        rule=Rule(**fields),
        standing=Standing(next_time=first, wake_time=first, looked_time=fields["start"]),
    )


def placed(schedule: Schedule, **standing: Any) -> Schedule:
    """The same schedule, standing elsewhere."""
    return replace(schedule, standing=replace(schedule.standing, **standing))


def encode(event: object) -> Fact:
    if not isinstance(event, ScheduleChanged):
        raise TypeError(event)
    return schedule_fact(event)


def kept_in_memory(clock: Clock) -> Kept:
    return Kept(MemoryDatabase(encode=encode, clock=clock), MemoryScheduleStore(), MemoryFakeRuns())


@asynccontextmanager
async def kept_in_postgres(server: PostgresServer) -> AsyncIterator[Kept]:
    async with (
        fresh_database(server) as dsn,
        migrated(dsn, encode, schema="pipeline", folders=[MIGRATIONS]) as database,
    ):
        await rows(database.newest).execute(TABLE)
        yield Kept(database, PostgresScheduleStore(), PostgresFakeRuns())
