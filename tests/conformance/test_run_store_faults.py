"""What Postgres refuses of runs is told apart: what passes, and what is wrong with one run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from importlib.resources import files

import pytest

from paddleflow.problems import Conflict
from pf_kit.events import Fact
from pf_kit.postgres.errors import NotStorable
from pf_kit.unit import Database
from pf_pipeline.runs.domain import Happening, Node, Order, Run, RunLife
from pf_pipeline.runs.postgres import PostgresRunStore
from pf_pipeline.runs.store import Turn
from support.databases import fresh_database, migrated
from support.servers import PostgresServer

MIGRATIONS = files("pf_pipeline") / "sql" / "migrations"
STORE = PostgresRunStore()


def no_facts(event: object) -> Fact:
    raise TypeError(event)


@pytest.fixture
async def database(postgres_server: PostgresServer) -> AsyncIterator[Database]:
    async with (
        fresh_database(postgres_server) as dsn,
        migrated(dsn, no_facts, schema="pipeline", folders=[MIGRATIONS]) as made,
    ):
        yield made


async def a_run(database: Database) -> Run:
    async with database.change() as change:
        life = RunLife(create_time=change.time)
        return await STORE.add(change, Run(id="run-1", owner="ada", order=Order(name="p"), life=life))


async def test_a_happening_that_has_been_kept_already_is_a_lost_race(database: Database) -> None:
    run = await a_run(database)
    happening = Happening(run=run.id, number=1, time=datetime.now(UTC), what="started")
    turn = Turn(run=replace(run, life=replace(run.life, happenings=1)), happenings=[happening])
    async with database.change() as change:
        await STORE.save(change, [turn])
    with pytest.raises(Conflict):
        async with database.change() as change:
            await STORE.save(change, [turn])


async def test_what_cannot_be_kept_is_a_fault_of_the_run(database: Database) -> None:
    run = await a_run(database)
    with pytest.raises(NotStorable):
        async with database.change() as change:
            await STORE.save(change, [Turn(run=run, nodes=[Node(run=run.id, path="a", message="\0")])])
    assert await STORE.unfinished(database.newest) == [run.id]
