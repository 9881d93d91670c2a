"""What every store promises of claims: one does the work, and nobody waits for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from pf_pipeline.artifacts.domain import CacheKey, Claim, NodeKey, Shelf, WorkKey
from support.artifact_stores import Kept, opened_store

KEY = CacheKey(Shelf("ada", "fs-ada-data", "path:run.yaml"), "k1")
WORK = WorkKey(KEY, "f1")


@pytest.fixture(params=["memory", "postgres"])
async def kept(request: pytest.FixtureRequest) -> AsyncIterator[Kept]:
    async with opened_store(request) as opened:
        yield opened


async def claimed(kept: Kept, *claims: Claim) -> dict[WorkKey, NodeKey]:
    database, store = kept
    async with database.change() as change:
        return dict(await store.claim(change, claims))


async def test_work_is_claimed_by_one(kept: Kept) -> None:
    database, store = kept
    first, second = NodeKey("r1", "a"), NodeKey("r2", "a")
    free = WorkKey(KEY, "f2")
    assert await claimed(kept, Claim(WORK, first)) == {WORK: first}
    assert await claimed(kept, Claim(free, second), Claim(WORK, second)) == {WORK: first, free: second}
    assert await claimed(kept, Claim(WORK, first)) == {WORK: first}
    assert await store.claimed(database.newest, [WORK, free, WorkKey(KEY, "f3")]) == {WORK: first, free: second}
    assert await store.claimed(database.newest, []) == {}
    assert await claimed(kept) == {}


async def test_of_two_in_one_batch_the_first_has_it(kept: Kept) -> None:
    nodes = [NodeKey("r1", name) for name in "zab"]
    assert await claimed(kept, *(Claim(WORK, node) for node in nodes)) == {WORK: nodes[0]}


async def test_what_is_given_up_is_free(kept: Kept) -> None:
    database, store = kept
    first, second = NodeKey("r1", "a"), NodeKey("r1", "b")
    works = [replace(WORK, files=f"f{number}") for number in range(3)]
    await claimed(kept, Claim(works[0], first), Claim(works[1], second), Claim(works[2], NodeKey("r2", "a")))
    async with database.change("run") as change:
        assert await store.release(change, [first, NodeKey("r7", "x")]) == [works[0]]
        assert await store.release(change, []) == []
        assert await store.release_runs(change, ["r1"]) == [works[1]]
    assert await store.claimed(database.newest, works) == {works[2]: NodeKey("r2", "a")}
    assert await claimed(kept, Claim(works[0], NodeKey("r2", "b"))) == {works[0]: NodeKey("r2", "b")}


async def test_all_who_have_claims_are_known(kept: Kept) -> None:
    database, store = kept
    nodes = [NodeKey("r1", "a"), NodeKey("r1", "b"), NodeKey("r2", "a")]
    works = [replace(WORK, files=f"f{number}") for number in range(4)]
    await claimed(kept, *(Claim(work, node) for work, node in zip(works, [*nodes, nodes[0]], strict=True)))
    assert await store.holders(database.newest, None, 2) == nodes[:2]
    assert await store.holders(database.newest, nodes[1], 2) == nodes[2:]


async def test_claims_at_once_agree(kept: Kept) -> None:
    """Changes that claim the same, each in another order, neither hang nor both have it."""
    works = [replace(WORK, files=f"f{number}") for number in range(20)]

    async def claim(number: int) -> dict[WorkKey, NodeKey]:
        order = works[number:] + works[:number]
        return await claimed(kept, *(Claim(work, NodeKey(f"r{number}", "a")) for work in order))

    async with asyncio.timeout(20):
        answers = await asyncio.gather(*map(claim, range(8)))
    assert all(answer == answers[0] for answer in answers)
    assert set(answers[0]) == set(works)


async def test_whoever_gives_up_sees_who_came_before(kept: Kept) -> None:
    """A claim that is refused is committed before what it waits for is given up, or gets it: nobody waits for ever."""
    database, store = kept
    owner, other = NodeKey("r1", "a"), NodeKey("r2", "a")
    await claimed(kept, Claim(WORK, owner))
    asked, order = asyncio.Event(), list[str]()

    async def release() -> None:
        await asked.wait()
        async with database.change() as change:
            await store.release(change, [owner])
            order.append("released")

    releasing = asyncio.create_task(release())
    async with database.change() as change:
        assert await store.claim(change, [Claim(WORK, other)]) == {WORK: owner}
        asked.set()
        await asyncio.sleep(0.05)  # long enough for the other one to be first, if it could
        order.append("refused")
    await releasing
    assert order == ["refused", "released"]
