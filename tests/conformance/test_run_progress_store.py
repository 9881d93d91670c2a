"""How far every store of runs says that components are."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.resources import files

import pytest

from pf_kit.clock import SystemClock
from pf_kit.events import Fact
from pf_kit.memory import MemoryDatabase
from pf_kit.unit import Database
from pf_pipeline.runs.domain import CacheTrace, Loop, Node, NodeFilter, Order, Progress, Run, RunLife, Standing
from pf_pipeline.runs.memory import MemoryRunStore
from pf_pipeline.runs.postgres import PostgresRunStore
from pf_pipeline.runs.states import NodeState
from pf_pipeline.runs.store import BEGINNING, RunStore, Turn, run_lock
from support.databases import fresh_database, migrated

MIGRATIONS = files("pf_pipeline") / "sql" / "migrations"
LATER = datetime(2030, 1, 1, tzinfo=UTC)
Kept = tuple[Database, RunStore]


def no_facts(event: object) -> Fact:
    raise TypeError(event)


@pytest.fixture(params=["memory", "postgres"])
async def kept(request: pytest.FixtureRequest) -> AsyncIterator[Kept]:
    if request.param == "memory":
        yield MemoryDatabase(encode=no_facts, clock=SystemClock()), MemoryRunStore()
        return
    async with (
        fresh_database(request.getfixturevalue("postgres_server")) as dsn,
        migrated(dsn, no_facts, schema="pipeline", folders=[MIGRATIONS]) as database,
    ):
        yield database, PostgresRunStore()


def node(component: str, place: int, iteration: int = 0, state: NodeState = NodeState.SUCCEEDED) -> Node:
    path = f"{component}[{iteration}]" if iteration else component
    return Node(run="run-1", path=path, place=place, iteration=iteration, state=state)


NODES = [
    node("a", 0),
    node("d", 1, 0, NodeState.RUNNING),
    node("d", 1, 1, NodeState.RUNNING),
    node("d.s", 2),
    node("d.s", 2, 1, NodeState.FAILED),
    node("d[1].s", 2, 2),
    node("d[1].s", 2, 0, NodeState.PENDING),
    node("d[1].s", 2, 5),
    node("zero", 3),
]
LOOPS = [
    Loop(run="run-1", path="d.s", items=(1, 2)),
    Loop(run="run-1", path="d[1].s", items=tuple(range(9))),
    Loop(run="run-1", path="later", items=(1, 2, 3)),
    Loop(run="run-1", path="zero", items=()),
]
PROGRESS = {
    "a": Progress(kept=1, over=1, gap=1),
    "d": Progress(kept=2, over=0, gap=2),
    "d.s": Progress(kept=2, over=2, gap=2, items=2),
    "d[1].s": Progress(kept=3, over=2, gap=1, items=9),
    "zero": Progress(kept=1, over=1, gap=1, items=0),
    "later": Progress(items=3),
    "nobody": Progress(),
}
PLACES = {"a": 0, "d": 1, "d.s": 2, "d[1].s": 2, "zero": 3, "later": 4, "nobody": 5}


async def test_progress_is_told_of_each_component_that_is_asked_for(kept: Kept) -> None:
    database, store = kept
    async with database.change(run_lock("run-1")) as change:
        run = Run(id="run-1", owner="ada", order=Order(name="p"), life=RunLife(create_time=change.time))
        for each in (run, replace(run, id="run-2")):
            await store.add(change, each)
        others = [replace(node("a", 0, 1), run="run-2")]
        turns = [Turn(run=run, nodes=NODES, loops=LOOPS), Turn(run=replace(run, id="run-2"), nodes=others)]
        await store.save(change, turns)
    assert await store.progress(database.newest, "run-1", PLACES) == PROGRESS
    assert await store.progress(database.newest, "run-1", {}) == {}
    assert [name for name, each in PROGRESS.items() if each.is_over] == ["a", "d.s", "zero"]
    running = await store.running(database.newest, "run-1", [1, 2])
    assert [each.path for each in running] == ["d", "d[1]"]
    assert await store.running(database.newest, "run-1", [0, 2, 9]) == []
    below = await store.nodes(database.newest, "run-1", NodeFilter(below="d.s"), BEGINNING, 10)
    assert [each.path for each in below] == ["d.s", "d.s[1]"]


async def test_it_is_counted_where_nodes_stand(kept: Kept) -> None:
    database, store = kept
    cached, late = CacheTrace(run="run-0"), LATER + timedelta(seconds=0.5)
    nodes = [
        replace(node("a", 0), start_time=LATER, finish_time=late, cache=cached),
        replace(node("a", 0, 1), start_time=late, finish_time=late + timedelta(minutes=1)),
        replace(node("a", 0, 2, NodeState.RUNNING), start_time=late),
        node("b", 1, 0, NodeState.SKIPPED),
    ]
    async with database.change(run_lock("run-1")) as change:
        run = Run(id="run-1", owner="ada", order=Order(name="p"), life=RunLife(create_time=change.time))
        await store.add(change, run)
        await store.save(change, [Turn(run=run, nodes=nodes)])
    assert await store.standings(database.newest, "run-2") == []
    end = late + timedelta(minutes=1)
    assert await store.standings(database.newest, "run-1") == [
        Standing(place=0, state=NodeState.RUNNING, number=1, start_time=late),
        Standing(place=0, state=NodeState.SUCCEEDED, number=2, cached=1, start_time=LATER, finish_time=end),
        Standing(place=1, state=NodeState.SKIPPED, number=1),
    ]
