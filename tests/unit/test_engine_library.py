"""Whoever waits for another node does so as long as that one goes on, and no longer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest

from pf_kit.clock import SystemClock
from pf_kit.events import Fact
from pf_kit.memory import MemoryDatabase
from pf_kit.unit import Change, View
from pf_pipeline.artifacts.desk import Desk
from pf_pipeline.artifacts.domain import NodeKey
from pf_pipeline.artifacts.judging import Judging
from pf_pipeline.artifacts.memory import MemoryArtifactStore
from pf_pipeline.artifacts.reading import Reading
from pf_pipeline.documents.model import Cache
from pf_pipeline.engine import library
from pf_pipeline.engine.core.happening import Judge, Judged, ReadResults, Verdict
from pf_pipeline.engine.library import ArtifactLibrary
from pf_pipeline.engine.questions import AFRESH
from pf_pipeline.plans.domain import Plan, PlannedStep
from pf_pipeline.runs.domain import CacheTrace, Node, NodeWork, Order, Run, RunLife
from pf_pipeline.runs.states import NodeState
from pf_pipeline.runs.store import Turn
from support.fake_files import FakeFiles
from support.waiting import until

STEP = PlannedStep(name="train", command="train", cache=Cache(enable=True))
PLAN = Plan(name="cake", entry_points={"train": STEP})
MADE = datetime(2030, 1, 1, tzinfo=UTC)


def no_events(event: object) -> Fact:
    raise TypeError(event)


async def free(change: Change) -> None:
    """Nobody else drives."""


@dataclass
class KnownNodes:
    """Fulfils `Nodes`."""

    kept: dict[NodeKey, Node] = field(default_factory=dict)

    def put(self, run: str, state: NodeState) -> Node:
        node = Node(run=run, path="train", name="train", state=state, work=NodeWork(command="train"))
        self.kept[NodeKey(run, "train")] = node
        return node

    async def node(self, view: View, run: str, path: str) -> Node | None:
        return self.kept.get(NodeKey(run, path))


@dataclass
class World:
    """A library, and what it knows."""

    nodes: KnownNodes = field(default_factory=KnownNodes)
    database: MemoryDatabase = field(default_factory=lambda: MemoryDatabase(encode=no_events, clock=SystemClock()))
    store: MemoryArtifactStore = field(default_factory=MemoryArtifactStore)

    def __post_init__(self) -> None:
        files = FakeFiles()
        judging = Judging(database=self.database, store=self.store, reading=Reading(files=files), clock=SystemClock())
        self.library = ArtifactLibrary(
            database=self.database,
            store=self.store,
            files=files,
            judging=judging,
            desk=Desk(judging, free),
            fence=free,
            nodes=self.nodes,
        )

    async def judged(self, run: str, fresh: tuple[str, ...] = ()) -> list[Judged]:
        told: list[Judged] = []
        await self.ask(run, told.append, fresh)
        return told

    async def ask(self, run: str, hear: Callable[[Judged], None], fresh: tuple[str, ...] = ()) -> None:
        """Asks the cache; hears what it says."""
        node = self.nodes.kept[NodeKey(run, "train")]
        made = Run(id=run, owner="ada", order=Order(name="cake", fresh=fresh), life=RunLife(create_time=MADE))
        async for each in self.library.judge(made, PLAN, Judge(node, STEP, "cake.entry_points.train")):
            hear(each)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(library, "LOOK_SECONDS", 0.01)
    return World()


async def test_who_claims_after_its_end_holds_nobody_up(world: World) -> None:
    world.nodes.put("r1", NodeState.TERMINATED)
    world.nodes.put("r2", NodeState.PENDING)
    assert [told.verdict for told in await world.judged("r1")] == [Verdict.MISS]
    async with asyncio.timeout(10):
        told = await world.judged("r2")
    assert [each.verdict for each in told] == [Verdict.WAIT, Verdict.MISS]
    assert told[0].waiting_on == "r1"


async def test_who_is_over_waits_no_longer(world: World) -> None:
    world.nodes.put("r1", NodeState.RUNNING)
    waits = world.nodes.put("r2", NodeState.PENDING)
    await world.judged("r1")
    asking = asyncio.create_task(world.judged("r2"))
    await asyncio.sleep(0)
    world.nodes.kept[NodeKey("r2", "train")] = replace(waits, state=NodeState.TERMINATED)
    async with asyncio.timeout(10):
        assert [told.verdict for told in await asking] == [Verdict.WAIT]
    assert await world.store.holders(world.database.newest, None, 9) == [NodeKey("r1", "train")]


async def test_who_goes_on_is_waited_for(world: World) -> None:
    world.nodes.put("r1", NodeState.RUNNING)
    world.nodes.put("r2", NodeState.PENDING)
    await world.judged("r1")
    asking = asyncio.create_task(world.judged("r2"))
    done, _ = await asyncio.wait([asking], timeout=0.5)
    assert not done
    async with world.database.change() as change:
        await world.store.release(change, [NodeKey("r1", "train")])
    async with asyncio.timeout(10):
        assert [told.verdict for told in await asking] == [Verdict.WAIT, Verdict.MISS]


async def test_who_waits_is_woken_by_the_end_of_the_other(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "LOOK_SECONDS", 3600.0)
    done = replace(world.nodes.put("r1", NodeState.RUNNING), cache=CacheTrace(key="known"))
    world.nodes.put("r2", NodeState.PENDING)
    await world.judged("r1")
    told: list[Judged] = []
    asking = asyncio.create_task(world.ask("r2", told.append))
    await until(lambda: bool(told))
    turn = Turn(
        run=Run(id="r1", owner="ada", order=Order(name="cake"), life=RunLife(create_time=MADE)),
        nodes=[replace(done, state=NodeState.FAILED)],
    )
    async with world.database.change() as change:
        await world.library.record(change, [turn])
    world.library.kept([turn])
    async with asyncio.timeout(10):
        await asking
    assert [each.verdict for each in told] == [Verdict.WAIT, Verdict.MISS]


async def test_what_is_to_be_done_afresh_waits_for_nobody_and_is_kept(world: World) -> None:
    world.nodes.put("r1", NodeState.RUNNING)
    world.nodes.put("r2", NodeState.PENDING)
    await world.judged("r1")
    (told,) = await world.judged("r2", fresh=("train",))
    assert (told.verdict, told.trace.message, bool(told.trace.key)) == (Verdict.MISS, AFRESH, True)
    node = replace(world.nodes.kept[NodeKey("r2", "train")], state=NodeState.RUNNING, cache=told.trace)
    run = Run(id="r2", owner="ada", order=Order(name="cake"), life=RunLife(create_time=MADE))
    await world.library.read_results(run, PLAN, ReadResults(node, STEP, "cake.entry_points.train"))
    async with world.database.change() as change:
        await world.library.record(change, [Turn(run=run, nodes=[replace(node, state=NodeState.SUCCEEDED)])])
    world.nodes.put("r3", NodeState.PENDING)
    (hit,) = await world.judged("r3")
    assert (hit.verdict, hit.trace.run) == (Verdict.HIT, "r2")
