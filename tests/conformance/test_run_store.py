"""What every store of runs promises, asked of each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.resources import files

import pytest

from pf_kit.clock import SystemClock
from pf_kit.memory import MemoryDatabase
from pf_kit.unit import Database
from pf_pipeline.documents.model import Strategy
from pf_pipeline.joints.events import encode
from pf_pipeline.plans.domain import Kind
from pf_pipeline.runs.domain import (
    CacheTrace,
    Executor,
    Happening,
    Leaving,
    Loop,
    Node,
    NodeFilter,
    NodeWork,
    Order,
    Run,
    RunFilter,
    RunLife,
    Source,
    StepCounts,
    Waiting,
    Wanted,
    Wish,
)
from pf_pipeline.runs.memory import MemoryRunStore
from pf_pipeline.runs.postgres import PostgresRunStore
from pf_pipeline.runs.states import NodeState, RunState, Stop
from pf_pipeline.runs.store import BEGINNING, RunStore, Turn, run_lock
from support.databases import fresh_database, migrated

MIGRATIONS = files("pf_pipeline") / "sql" / "migrations"
TIME = datetime(2026, 3, 4, 5, 6, 7, 891, tzinfo=UTC)
Kept = tuple[Database, RunStore]
ORDER = Order(
    name="cake",
    title="a cake",
    description="with ü",
    source=Source(pipeline_id="ppl-000001", pipeline_version=3),
    origin="ppl-000001-3",
    document="name: cake\n",
    parameters={"a.b": 1.5, "list": [1, "x", [2]]},
    filesystem="disk",
    filesystem_id="fs-ada-disk",
    sub_path="deep",
    mounts={"disk": "fs-ada-disk"},
    docker_env="img",
    disabled=("x",),
    strategy=Strategy.CONTINUE,
    executor=Executor.NOTHING,
    fresh=("*",),
    schedule_id="schedule-000001",
    scheduled_time=TIME,
    retry_of="run-000000",
)
NODE = Node(
    run="run-000001",
    path="d[1].s",
    kind=Kind.POST_PROCESS,
    parent="d[1]",
    name="s",
    reference="c",
    deps=("a", "b"),
    place=7,
    iteration=2,
    iterations=3,
    state=NodeState.RUNNING,
    message="m",
    waiting=Waiting.JOB,
    waiting_on=("job-1",),
    attempt=2,
    job="job-1",
    work=NodeWork(
        parameters={"n": 1, "f": 0.5, "l": (1, ("x", True))},
        command="echo ü",
        env={"A": "b"},
        docker_env="img",
        inputs={"i": "p,q"},
        outputs={"o": "r"},
        result_files={"score": "s"},
        loop_argument=(3, 4),
        condition="1 > 0",
        job={"members": [{"role": "worker"}]},
    ),
    results={"score": 0.25},
    cache=CacheTrace(key="k", run="run-9", job="job-9", message="as there", parts={"result": 4}),
    approved_by="ada",
    start_time=TIME,
    finish_time=TIME + timedelta(seconds=1),
    not_before=TIME + timedelta(seconds=2),
)


@pytest.fixture(params=["memory", "postgres"])
async def kept(request: pytest.FixtureRequest) -> AsyncIterator[Kept]:
    if request.param == "memory":
        yield MemoryDatabase(encode=encode, clock=SystemClock()), MemoryRunStore()
        return
    async with (
        fresh_database(request.getfixturevalue("postgres_server")) as dsn,
        migrated(dsn, encode, schema="pipeline", folders=[MIGRATIONS]) as database,
    ):
        yield database, PostgresRunStore()


async def added(kept: Kept, order: Order = ORDER, owner: str = "ada") -> Run:
    database, store = kept
    async with database.change() as change:
        run = Run(id=await store.new_id(change), owner=owner, order=order, life=RunLife(create_time=TIME))
        return await store.add(change, run)


async def saved(kept: Kept, turn: Turn) -> Run:
    database, store = kept
    async with database.change(run_lock(turn.run.id)) as change:
        (run,) = await store.save(change, [turn])
        return run


async def test_a_run_is_kept_as_it_is(kept: Kept) -> None:
    database, store = kept
    run = await added(kept)
    assert list(await store.runs(database.newest, [run.id, "run-999999"])) == [run]
    assert (run.id, (await added(kept)).number > run.number) == ("run-000001", True)
    (listed,) = await store.page(database.newest, RunFilter(ids=frozenset({run.id})), 0, 10)
    assert listed == replace(run, order=replace(ORDER, document=""))


async def test_a_turn_is_kept_as_a_whole(kept: Kept) -> None:
    database, store = kept
    run = await added(kept)
    life = replace(
        run.life,
        state=RunState.RUNNING,
        message="m",
        stop=Stop.STOP,
        stopped_by="bob",
        steps=StepCounts(1, 2, 3, 4, 5, 6, 7),
        start_time=TIME,
        happenings=2,
    )
    happened = [
        Happening(run=run.id, number=1, time=TIME, what="running"),
        Happening(run=run.id, number=2, time=TIME, what="x", path="p", node_state=NodeState.FAILED, attempt=3, job="j"),
    ]
    turn = Turn(
        run=replace(run, life=life),
        nodes=[NODE, replace(NODE, path="a", place=0, iteration=0)],
        loops=[Loop(run=run.id, path="d", items=(1, "x", (2.5,)))],
        happenings=happened,
    )
    after = await saved(kept, turn)
    assert (after.version > run.version, after.life) == (True, life)
    assert list(await store.runs(database.newest, [run.id])) == [after]
    assert await store.node(database.newest, run.id, NODE.path) == NODE
    assert await store.loops(database.newest, run.id) == {"d": turn.loops[0]}
    told = await store.happenings(database.newest, run.id, 0, 10)
    assert [replace(each, time=TIME) for each in told] == happened
    assert list(await store.happenings(database.newest, run.id, 1, 10)) == [told[1]]


async def test_a_node_takes_the_place_of_itself_and_a_loop_never_changes(kept: Kept) -> None:
    database, store = kept
    run = await added(kept)
    first = Loop(run=run.id, path="d", items=(1,))
    await saved(kept, Turn(run=run, nodes=[NODE], loops=[first]))
    over = replace(NODE, state=NodeState.SUCCEEDED)
    await saved(kept, Turn(run=run, nodes=[over], loops=[replace(first, items=(2,))]))
    assert await store.node(database.newest, run.id, NODE.path) == over
    assert await store.loops(database.newest, run.id) == {"d": first}


async def test_nodes_are_listed_in_their_order_and_by_what_is_asked(kept: Kept) -> None:
    database, store = kept
    run = await added(kept)
    rows = {"b": (1, 0), "a": (0, 0), "a[10]": (0, 10), "a[2]": (0, 2), "a[2].c": (2, 0), "ab": (3, 0)}
    nodes = [
        replace(
            NODE, path=path, place=place, iteration=iteration, state=NodeState.FAILED if path == "b" else NODE.state
        )
        for path, (place, iteration) in rows.items()
    ]
    await saved(kept, Turn(run=run, nodes=nodes))

    async def listed(chosen: NodeFilter, limit: int = 100) -> list[str]:
        return [node.path for node in await store.nodes(database.newest, run.id, chosen, BEGINNING, limit)]

    assert await listed(NodeFilter()) == ["a", "a[2]", "a[10]", "b", "a[2].c", "ab"]
    assert await listed(NodeFilter(below="a[2]")) == ["a[2]", "a[2].c"]
    assert await listed(NodeFilter(below="a")) == ["a", "a[2]", "a[10]", "a[2].c"]
    assert await listed(NodeFilter(states=frozenset({NodeState.FAILED}))) == ["b"]
    assert await listed(NodeFilter(), 2) == ["a", "a[2]"]
    after = await store.nodes(database.newest, run.id, NodeFilter(), (0, 2, "a[2]"), 2)
    assert [node.path for node in after] == ["a[10]", "b"]


async def test_runs_are_found_by_what_they_are(kept: Kept) -> None:
    database, store = kept
    first = await added(kept)
    plain = Order(name="tart", title="tart")
    second = await added(kept, plain, "bob")
    await saved(kept, Turn(run=replace(second, life=replace(second.life, state=RunState.FAILED, finish_time=TIME))))

    async def found(**chosen: object) -> list[str]:
        return [run.id for run in await store.page(database.newest, RunFilter(**chosen), 0, 10)]  # type: ignore[arg-type]  # the fields of a filter

    assert await found() == [second.id, first.id]
    assert await found(owners=frozenset({"bob"})) == [second.id]
    assert await found(states=frozenset({RunState.INITIATING})) == [first.id]
    assert await found(names=frozenset({"tart"})) == [second.id]
    assert await found(filesystems=frozenset({"disk"})) == [first.id]
    assert await found(schedule_id="schedule-000001") == [first.id]
    assert await found(pipeline_id="ppl-000001") == [first.id]
    assert [run.id for run in await store.page(database.newest, RunFilter(), second.number, 10)] == [first.id]
    assert list(await store.unfinished(database.newest)) == [first.id]
    assert list(await store.active_of(database.newest, "schedule-000001")) == [first.id]
    assert list(await store.retries_of(database.newest, "run-000000")) == [first.id]
    assert list(await store.retries_of(database.newest, "")) == []
    assert [run.id for run in await store.expired(database.newest, TIME, 10)] == [second.id]
    assert list(await store.expired(database.newest, TIME - timedelta(seconds=1), 10)) == []


async def test_wishes_are_kept_until_they_are_heard(kept: Kept) -> None:
    database, store = kept
    run = await added(kept)
    async with database.change(run_lock(run.id)) as change:
        await store.wish(change, Wish(run=run.id, wanted=Wanted.BEGIN))
        await store.wish(change, Wish(run=run.id, wanted=Wanted.APPROVE, path="a", by="bob", comment="good"))
    begin, approve = await store.wishes(database.newest, 0, 10)
    assert (begin.wanted, approve.path, approve.by, approve.comment) == (Wanted.BEGIN, "a", "bob", "good")
    assert list(await store.wishes(database.newest, begin.number, 10)) == [approve]
    await saved(kept, Turn(run=run, heard=[begin.number]))
    assert list(await store.wishes(database.newest, 0, 10)) == [approve]
    async with database.change() as change:
        await store.forget_wishes(change, [approve.number])
    assert list(await store.wishes(database.newest, 0, 10)) == []


async def test_a_run_is_forgotten_with_all_that_belongs_to_it(kept: Kept) -> None:
    database, store = kept
    run, other = await added(kept), await added(kept)
    for each in (run, other):
        happened = Happening(run=each.id, number=1, time=TIME, what="x")
        loop = Loop(run=each.id, path="d", items=())
        await saved(kept, Turn(run=each, nodes=[replace(NODE, run=each.id)], loops=[loop], happenings=[happened]))
    leaving = Leaving(run.id, "ada", "fs-ada-disk", ".pipeline/run-000001")
    async with database.change(run_lock(run.id)) as change:
        await store.wish(change, Wish(run=run.id, wanted=Wanted.STOP))
        await store.leave(change, [leaving])
        await store.remove(change, [run.id])
    view = database.newest
    assert list(await store.runs(view, [run.id])) == []
    assert await store.node(view, run.id, NODE.path) is None
    assert (await store.loops(view, run.id), list(await store.happenings(view, run.id, 0, 10))) == ({}, [])
    assert list(await store.wishes(view, 0, 10)) == []
    assert await store.node(view, other.id, NODE.path) is not None
    assert list(await store.leavings(view, "", 10)) == [leaving]
    async with database.change() as change:
        await store.clear(change, [run.id])
    assert list(await store.leavings(view, "", 10)) == []
