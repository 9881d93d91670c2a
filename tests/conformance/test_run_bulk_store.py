"""Runs that schedules make many at once are the same as those that are made one by one, in every store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from importlib.resources import files

import pytest

from pf_kit.clock import SystemClock
from pf_kit.events import BEGINNING
from pf_kit.memory import MemoryDatabase
from pf_kit.unit import Database
from pf_pipeline.artifacts.memory import MemoryArtifactStore
from pf_pipeline.artifacts.service import Traces
from pf_pipeline.owners import Owner
from pf_pipeline.runs.convert import encode_run
from pf_pipeline.runs.domain import Order, RunChanged, Source, Wanted
from pf_pipeline.runs.memory import MemoryRunStore
from pf_pipeline.runs.postgres import PostgresRunStore
from pf_pipeline.runs.service import Runs
from pf_pipeline.runs.states import RunState
from pf_pipeline.runs.store import RunStore
from support.databases import fresh_database, migrated

MIGRATIONS = files("pf_pipeline") / "sql" / "migrations"
TICK = datetime(2024, 5, 6, tzinfo=UTC)
Kept = tuple[Database, RunStore, Runs]


def encode(event: object) -> object:
    if not isinstance(event, RunChanged):
        raise TypeError(event)
    return encode_run(event)


@pytest.fixture(params=["memory", "postgres"])
async def kept(request: pytest.FixtureRequest) -> AsyncIterator[Kept]:
    if request.param == "memory":
        yield whole(MemoryDatabase(encode=encode, clock=SystemClock()), MemoryRunStore())  # type: ignore[arg-type]
        return
    async with (
        fresh_database(request.getfixturevalue("postgres_server")) as dsn,
        migrated(dsn, encode, schema="pipeline", folders=[MIGRATIONS]) as database,  # type: ignore[arg-type]
    ):
        yield whole(database, PostgresRunStore())


def whole(database: Database, store: RunStore) -> Kept:
    return database, store, Runs(store=store, traces=Traces(store=MemoryArtifactStore()))


def an_order(schedule: str) -> Order:
    source = Source(pipeline_id="ppl-000001", pipeline_version=2)
    return Order(
        name="train",
        document="name: train",
        source=source,
        schedule_id=schedule,
        scheduled_time=TICK,
        parameters={"n": 1},
    )


async def test_many_runs_are_kept_as_one_would_be(kept: Kept) -> None:
    database, store, runs = kept
    async with database.change() as change:
        alone = await runs.create(change, Owner("alice"), an_order("schedule-1"))
        many = await runs.create_all(
            change, [(Owner("alice"), an_order("schedule-1")), (Owner("bobby"), an_order("schedule-2"))]
        )
    assert [run.owner for run in many] == ["alice", "bobby"]
    assert [run.id for run in many] == ["run-000002", "run-000003"]
    assert alone.number < many[0].number < many[1].number
    assert replace(many[0], id=alone.id, number=alone.number, version=alone.version) == alone
    assert sorted(await store.runs(database.newest, [run.id for run in many]), key=lambda run: run.id) == list(many)
    wishes = await store.wishes(database.newest, 0, 9)
    assert [(wish.run, wish.wanted, wish.by) for wish in wishes] == [
        (alone.id, Wanted.BEGIN, "alice"),
        (many[0].id, Wanted.BEGIN, "alice"),
        (many[1].id, Wanted.BEGIN, "bobby"),
    ]
    assert len(await database.log.events_after(BEGINNING, 9)) == 3


async def test_runs_that_were_passed_over_never_begin(kept: Kept) -> None:
    database, store, runs = kept
    async with database.change() as change:
        (skipped,) = await runs.create_all_skipped(change, [(Owner("alice"), an_order("schedule-1"), "it expired")])
    assert (skipped.life.state, skipped.life.message) == (RunState.SKIPPED, "it expired")
    assert await store.runs(database.newest, [skipped.id]) == [skipped]
    assert not await store.wishes(database.newest, 0, 9)


async def test_runs_under_way_are_counted_by_schedule(kept: Kept) -> None:
    database, store, runs = kept
    orders = [(Owner("alice"), an_order(f"schedule-{number}")) for number in (1, 1, 2, 3)]
    async with database.change() as change:
        await runs.create_all(change, orders)
        await runs.create_all_skipped(change, [(Owner("alice"), an_order("schedule-1"), "")])
    counts = await store.active_counts(database.newest, ["schedule-1", "schedule-2", "schedule-4"])
    assert {schedule: count for schedule, count in counts.items() if count} == {"schedule-1": 2, "schedule-2": 1}


async def test_no_runs_are_no_trouble(kept: Kept) -> None:
    database, store, runs = kept
    async with database.change() as change:
        assert await runs.create_all(change, []) == []
        assert await runs.create_all_skipped(change, []) == []
    assert not await store.active_counts(database.newest, [])
