"""What artifacts were made from, and what was made with them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pf_kit.clock import SystemClock
from pf_kit.events import Fact
from pf_kit.memory import MemoryDatabase
from pf_pipeline.artifacts.domain import ArtifactEvent, NodeKey, Place, Use
from pf_pipeline.artifacts.lineage import MOST_LINKS, Lineage, Link, trace
from pf_pipeline.artifacts.memory import MemoryArtifactStore
from pf_pipeline.owners import Owner

STORE = MemoryArtifactStore()


def no_events(event: object) -> Fact:
    raise TypeError(event)


@pytest.fixture
def database() -> MemoryDatabase:
    return MemoryDatabase(encode=no_events, clock=SystemClock())


async def step(
    database: MemoryDatabase, node: str, reads: str, writes: str, *, owner: str = "ada", cached: bool = False
) -> None:
    """A step that reads and writes artifacts: names with spaces between, of which each is one path."""
    async with database.change("run") as change:
        for use, paths in ((Use.INPUT, reads), (Use.OUTPUT, writes)):
            events = [event(node, use, path, owner=owner, cached=cached) for path in paths.split()]
            await STORE.record(change, events)


def event(node: str, use: Use, *paths: str, owner: str = "ada", cached: bool = False) -> ArtifactEvent:
    return ArtifactEvent(
        key=NodeKey("r1", node),
        use=use,
        artifact=paths[0],
        step=node,
        filesystem_id="fs",
        filesystem="data",
        owner=owner,
        paths=paths,
        cached=cached,
        run_time=datetime(2030, 1, 1, tzinfo=UTC),
    )


async def traced(database: MemoryDatabase, path: str, depth: int = 5, seen_by: Owner | None = None) -> Lineage:
    return await trace(STORE, database.newest, Place("fs", path), seen_by, depth)


def link(node: str, read: str, written: str, distance: int, *, cached: bool = False) -> Link:
    return Link(NodeKey("r1", node), read, written, distance, cached)


async def test_lineage_goes_both_ways(database: MemoryDatabase) -> None:
    await step(database, "a", "", "raw")
    await step(database, "b", "raw", "clean")
    await step(database, "c", "clean", "model", cached=True)
    await step(database, "d", "model", "")
    found = await traced(database, "clean")
    assert found.made_from == [link("b", "raw", "clean", 1), link("a", "", "raw", 2)]
    assert found.made_into == [link("c", "clean", "model", 1, cached=True), link("d", "model", "", 2)]
    assert not found.truncated


async def test_it_goes_as_far_as_it_is_asked_to(database: MemoryDatabase) -> None:
    for number in range(6):
        await step(database, f"s{number}", f"a{number}", f"a{number + 1}")
    assert [each.distance for each in (await traced(database, "a6", 3)).made_from] == [1, 2, 3]
    assert len((await traced(database, "a6", 20)).made_from) == 6


async def test_several_ways_lead_to_the_same(database: MemoryDatabase) -> None:
    await step(database, "split", "raw", "left right")
    await step(database, "l", "left", "l2")
    await step(database, "r", "right", "r2")
    await step(database, "join", "l2 r2", "out")
    found = (await traced(database, "out")).made_from
    assert {(each.by.node, each.input_path, each.output_path, each.distance) for each in found} == {
        ("join", "l2", "out", 1),
        ("join", "r2", "out", 1),
        ("l", "left", "l2", 2),
        ("r", "right", "r2", 2),
        ("split", "raw", "left", 3),
        ("split", "raw", "right", 3),
    }
    assert len(found) == 6


async def test_circles_come_to_an_end(database: MemoryDatabase) -> None:
    await step(database, "a", "x", "y")
    await step(database, "b", "y", "x")
    await step(database, "self", "x", "x")
    found = await traced(database, "x", 20)
    assert {(each.by.node, each.distance) for each in found.made_from} == {("b", 1), ("self", 1), ("a", 2)}
    assert {(each.by.node, each.distance) for each in found.made_into} == {("a", 1), ("self", 1), ("b", 2)}


async def test_what_was_put_together_leads_to_each_part(database: MemoryDatabase) -> None:
    await step(database, "loop", "", "p0")
    await step(database, "loop[1]", "", "p1")
    async with database.change("run") as change:
        await STORE.record(change, [event("sum", Use.INPUT, "p0", "p1"), event("sum", Use.OUTPUT, "total")])
    found = (await traced(database, "total")).made_from
    assert [(each.input_path, each.distance) for each in found] == [("p0", 1), ("p1", 1), ("", 2), ("", 2)]
    assert [each.output_path for each in (await traced(database, "p1")).made_into] == ["total"]


async def test_only_what_may_be_seen_is_followed(database: MemoryDatabase) -> None:
    await step(database, "a", "raw", "clean", owner="bob")
    await step(database, "b", "clean", "model")
    assert [each.by.node for each in (await traced(database, "model", seen_by=Owner("ada"))).made_from] == ["b"]
    assert [each.by.node for each in (await traced(database, "model")).made_from] == ["b", "a"]
    assert await traced(database, "raw", seen_by=Owner("ada")) == Lineage([], [], truncated=False)


async def test_another_filesystem_is_another_place(database: MemoryDatabase) -> None:
    await step(database, "a", "raw", "clean")
    found = await trace(STORE, database.newest, Place("other", "clean"), None, 5)
    assert found == Lineage([], [], truncated=False)


async def test_more_than_fits_is_left_out(database: MemoryDatabase) -> None:
    await step(database, "far", "", "i0")
    async with database.change("run") as change:
        inputs = event("wide", Use.INPUT, *(f"i{number}" for number in range(MOST_LINKS + 1)))
        await STORE.record(change, [inputs, event("wide", Use.OUTPUT, "out")])
    found = await traced(database, "out")
    assert found.truncated
    assert len(found.made_from) == MOST_LINKS
    assert {each.distance for each in found.made_from} == {1}
