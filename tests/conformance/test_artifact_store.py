"""What every store of artifacts and cached results promises, asked of each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pf_pipeline.artifacts.domain import (
    UNSTORED,
    ArtifactEvent,
    CachedResult,
    CacheKey,
    Claim,
    EventFilter,
    NodeKey,
    Output,
    Place,
    ResultFilter,
    Shelf,
    Taken,
    Use,
    WorkKey,
)
from pf_pipeline.owners import Owner
from support.artifact_stores import Kept, opened_store

MADE = datetime(2030, 1, 1, tzinfo=UTC)
SHELF = Shelf("ada", "fs-ada-data", "path:run.yaml")
KEY = CacheKey(SHELF, "k1")
WORK = WorkKey(KEY, "f1")
FAR = datetime(2090, 1, 1, tzinfo=UTC)


@pytest.fixture(params=["memory", "postgres"])
async def kept(request: pytest.FixtureRequest) -> AsyncIterator[Kept]:
    async with opened_store(request) as opened:
        yield opened


def event(run: str, node: str, use: Use, *paths: str, **more: Any) -> ArtifactEvent:
    given = {
        "artifact": "data",
        "step": node,
        "filesystem_id": "fs-ada-data",
        "filesystem": "data",
        "owner": "ada",
        "run_time": MADE,
    }
    return ArtifactEvent(key=NodeKey(run, node), use=use, paths=paths, **{**given, **more})


def result(run: str, node: str = "train", **more: Any) -> CachedResult:
    given = {"cache_key": KEY, "files": "f1", "component": node, "filesystem": "data"}
    return CachedResult(made_by=NodeKey(run, node), **{**given, **more})


def bare(events: Sequence[ArtifactEvent]) -> list[ArtifactEvent]:
    return [replace(each, number=0, create_time=UNSTORED, update_time=UNSTORED) for each in events]


async def recorded(kept: Kept, *events: ArtifactEvent) -> None:
    database, store = kept
    async with database.change("run") as change:
        await store.record(change, events)


async def added(kept: Kept, *results: CachedResult) -> Sequence[CachedResult]:
    database, store = kept
    async with database.change("run") as change:
        return await store.add_results(change, results)


async def test_events_are_kept_as_they_are(kept: Kept) -> None:
    database, store = kept
    strange = event(
        "r1",
        "dag[2].a",
        Use.OUTPUT,
        "a,b",
        'quo"te',
        "back\\slash",
        "ä",
        meta='{"a": 1}',
        digest="d",
        job="j",
        cached=True,
    )
    plain = event("r1", "b", Use.INPUT, "x")
    await recorded(kept, strange, plain)
    found = await store.events(database.newest, EventFilter(), 0, 10)
    assert bare(found) == [plain, strange]
    assert found[0].number > found[1].number > 0
    assert found[0].create_time == found[0].update_time > MADE - timedelta(days=9000)


async def test_an_event_that_is_noted_again_keeps_its_place(kept: Kept) -> None:
    database, store = kept
    await recorded(kept, event("r1", "a", Use.OUTPUT, "old"))
    await recorded(kept, event("r1", "b", Use.OUTPUT, "x"))
    again = event("r1", "a", Use.OUTPUT, "new", digest="d")
    await recorded(kept, event("r1", "a", Use.OUTPUT, "between"), again)
    newest, oldest = await store.events(database.newest, EventFilter(), 0, 10)
    assert (newest.paths, oldest.paths, oldest.digest) == (("x",), ("new",), "d")
    assert oldest.update_time > newest.update_time > oldest.create_time
    async with database.change("run") as change:
        await store.record(change, [])


async def test_events_are_found_by_what_they_are_about(kept: Kept) -> None:
    database, store = kept
    later = MADE + timedelta(hours=1)
    await recorded(
        kept,
        event("r1", "a", Use.OUTPUT, "runs/1/a", "other/1"),
        event("r1", "b", Use.INPUT, "runs/1/a"),
        event("r2", "a", Use.OUTPUT, "runs/2/a_b", owner="bob", filesystem="more", run_time=later),
    )

    async def nodes(**chosen: Any) -> list[tuple[str, str]]:
        found = await store.events(database.newest, EventFilter(**chosen), 0, 10)
        return [(each.key.run, each.key.node) for each in found]

    first, second, third = ("r1", "a"), ("r1", "b"), ("r2", "a")
    assert await nodes() == [third, second, first]
    assert await nodes(owners=("ada",)) == [second, first]
    assert await nodes(owners=("ada", "bob")) == [third, second, first]
    assert await nodes(filesystems=("more",)) == [third]
    assert await nodes(runs=("r2", "none")) == [third]
    assert await nodes(uses=(Use.INPUT,)) == [second]
    assert await nodes(path_prefixes=("other/", "runs/2")) == [third, first]
    assert await nodes(path_prefixes=("runs/2/a%", "runs/2/aXb")) == []
    assert await nodes(since=later) == [third]
    assert await nodes(until=later) == [second, first]
    assert await nodes(seen_by=Owner("bob")) == [third]
    assert await nodes(owners=("ada",), seen_by=Owner("bob")) == []
    page = await store.events(database.newest, EventFilter(), 0, 2)
    assert [each.key.node for each in await store.events(database.newest, EventFilter(), page[-1].number, 2)] == ["a"]


async def test_events_are_found_by_places_and_by_nodes(kept: Kept) -> None:
    database, store = kept
    await recorded(
        kept,
        event("r1", "a", Use.OUTPUT, "p", "q"),
        event("r1", "b", Use.INPUT, "q"),
        event("r2", "a", Use.OUTPUT, "p", filesystem_id="fs-ada-more"),
        event("r3", "a", Use.OUTPUT, "q", owner="bob"),
        event("r3", "a", Use.OUTPUT, "z", artifact="more", owner="bob"),
    )
    view, q, p = database.newest, Place("fs-ada-data", "q"), Place("fs-ada-data", "p")

    async def at(*places: Place, use: Use = Use.OUTPUT, seen_by: Owner | None = None, limit: int = 10) -> list[str]:
        return [each.key.run for each in await store.events_at(view, places, use, seen_by, limit)]

    assert await at(q, p) == ["r3", "r1"]
    assert await at(q, p, limit=1) == ["r3"]
    assert await at(q, p, seen_by=Owner("ada")) == ["r1"]
    assert await at(q, use=Use.INPUT) == ["r1"]
    assert await at(Place("fs-ada-more", "p")) == ["r2"]
    assert await at() == []
    nodes = [NodeKey("r3", "a"), NodeKey("r1", "a"), NodeKey("r1", "b"), NodeKey("r1", "a")]
    found = await store.events_of(view, nodes, Use.OUTPUT)
    assert [(each.key.run, each.artifact) for each in found] == [("r1", "data"), ("r3", "data"), ("r3", "more")]
    assert await store.events_of(view, [], Use.OUTPUT) == []


async def test_results_are_kept_as_they_are(kept: Kept) -> None:
    database, store = kept
    full = result(
        "r1",
        job="j1",
        max_expired_time=300,
        outputs={"model": Output("a/b,c", "d1"), "empty": Output("", "")},
        results={"n": 1, "x": 1.0, "big": 1e300, "s": "ä\n", "b": True, "l": (1, ("a", 2.5))},
        explanation='{"command": "x"}',
    )
    (stored,) = await added(kept, full)
    assert stored.id == f"cch-{stored.number:06}"
    assert replace(stored, number=0, create_time=UNSTORED, update_time=UNSTORED) == full
    found = await store.result(database.newest, stored.number)
    assert found == stored
    types = {name: type(value) for name, value in found.results.items()}
    assert types == {"n": int, "x": float, "big": float, "s": str, "b": bool, "l": tuple}
    assert await store.result(database.newest, stored.number + 1) is None
    assert await added(kept) == []


async def test_a_node_has_one_result(kept: Kept) -> None:
    database, store = kept
    (first,) = await added(kept, result("r1"))
    (second,) = await added(kept, result("r1", files="f2"))
    assert second.number == first.number
    assert second.create_time > first.create_time
    assert [each.files for each in await store.results(database.newest, ResultFilter(), 0, 10)] == ["f2"]


async def test_results_are_found_by_what_they_are_about(kept: Kept) -> None:
    database, store = kept
    bobs = CacheKey(Shelf("bob", "fs-bob-more", "x"), "k1")
    first, second = await added(kept, result("r1"), result("r2", cache_key=bobs, filesystem="more"))

    async def numbers(**chosen: Any) -> list[int]:
        return [each.number for each in await store.results(database.newest, ResultFilter(**chosen), 0, 10)]

    assert await numbers() == [second.number, first.number]
    assert await numbers(owners=("bob",)) == [second.number]
    assert await numbers(filesystems=("data",)) == [first.number]
    assert await numbers(runs=("r1",)) == [first.number]
    assert await numbers(seen_by=Owner("bob")) == [second.number]
    assert [each.number for each in await store.results(database.newest, ResultFilter(), second.number, 10)] == [
        first.number
    ]


async def test_candidates_of_many_keys_come_newest_first(kept: Kept) -> None:
    database, store = kept
    other = CacheKey(SHELF, "k2")
    elsewhere = [
        CacheKey(replace(SHELF, owner="bob"), "k1"),
        CacheKey(replace(SHELF, filesystem_id=""), "k1"),
        CacheKey(replace(SHELF, origin="else"), "k1"),
    ]
    stored = await added(
        kept,
        *(result(f"r{number}", explanation='{"a": 1}') for number in range(4)),
        result("r4", cache_key=other),
        *(result(f"e{number}", cache_key=key) for number, key in enumerate(elsewhere)),
    )
    found = await store.candidates(database.newest, [KEY, other, CacheKey(SHELF, "none")], FAR, 3)
    assert {key: [each.made_by.run for each in results] for key, results in found.items()} == {
        KEY: ["r3", "r2", "r1"],
        other: ["r4"],
    }
    assert found[KEY][0] == replace(stored[3], explanation="{}")
    assert await store.candidates(database.newest, [], FAR, 3) == {}


@pytest.mark.parametrize(("limit", "age", "counts"), [(-1, 1e9, True), (10, 9, True), (10, 10, False), (0, 0, False)])
async def test_results_whose_time_is_over_do_not_count(kept: Kept, limit: int, age: float, *, counts: bool) -> None:
    database, store = kept
    (stored,) = await added(kept, result("r1", max_expired_time=limit))
    now = stored.create_time + timedelta(seconds=age)
    assert (KEY in await store.candidates(database.newest, [KEY], now, 1)) is counts
    assert stored.is_valid(now, -1) is counts
    assert [each.number for each in await store.nearest(database.newest, SHELF, "train", 5)] == [stored.number]


async def test_the_nearest_results_are_of_the_same_component(kept: Kept) -> None:
    database, store = kept
    await added(
        kept,
        result("r1", explanation='{"a": 1}'),
        result("r2", cache_key=CacheKey(SHELF, "k2")),
        result("r3", "other"),
        result("r4", cache_key=CacheKey(replace(SHELF, origin="else"), "k1")),
    )
    found = await store.nearest(database.newest, SHELF, "train", 5)
    assert [each.made_by.run for each in found] == ["r2", "r1"]
    assert found[1].explanation == '{"a": 1}'
    assert len(await store.nearest(database.newest, SHELF, "train", 1)) == 1


async def test_who_took_results_is_known(kept: Kept) -> None:
    database, store = kept
    first, second = await added(kept, result("r1"), result("r1", "other"))
    async with database.change("run") as change:
        await store.take(change, [Taken(first.number, "r1", "r9"), Taken(second.number, "r1", "r5")])
    async with database.change("run") as change:
        await store.take(change, [Taken(first.number, "r1", "r5"), Taken(first.number, "r1", "r9")])
        await store.take(change, [])
    found = await store.result(database.newest, first.number)
    assert found is not None
    assert found.used_by == ("r9", "r5")
    assert found.update_time > found.create_time
    assert {each.number: each.used_by for each in await store.results(database.newest, ResultFilter(), 0, 9)} == {
        first.number: ("r9", "r5"),
        second.number: ("r5",),
    }
    assert await store.takers(database.newest, ["r1", "r9"]) == {"r1": ["r9", "r5"]}
    async with database.change("run") as change:
        await store.remove_results(change, [first.number, 999_999])
    assert await store.result(database.newest, first.number) is None
    assert await store.takers(database.newest, ["r1"]) == {"r1": ["r9", "r5"]}, "its artifacts are still used"


async def test_all_about_a_run_is_forgotten_with_it(kept: Kept) -> None:
    database, store = kept
    await recorded(kept, event("r1", "a", Use.OUTPUT, "p"), event("r2", "a", Use.OUTPUT, "p"))
    first, second, third = await added(kept, result("r1"), result("r2"), result("r3"))
    async with kept[0].change() as change:
        await kept[1].claim(change, [Claim(WORK, NodeKey("r1", "a"))])
    async with database.change("run") as change:
        taken = [(first, "r1", "r2"), (second, "r2", "r1"), (third, "r3", "r2")]
        await store.take(change, [Taken(of.number, maker, taker) for of, maker, taker in taken])
        await store.forget(change, ["r1"])
    view = database.newest
    assert [each.key.run for each in await store.events(view, EventFilter(), 0, 9)] == ["r2"]
    assert [each.made_by.run for each in await store.results(view, ResultFilter(), 0, 9)] == ["r3", "r2"]
    assert await store.takers(view, ["r1", "r2", "r3"]) == {"r3": ["r2"]}
    assert await store.claimed(view, [WORK]) == {}
