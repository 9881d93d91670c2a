"""What every store of pipelines promises, asked of each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from importlib.resources import files

import pytest

from paddleflow.problems import PipelineExists
from pf_kit.clock import SystemClock
from pf_kit.memory import MemoryDatabase
from pf_kit.unit import Database
from pf_pipeline.owners import Owner
from pf_pipeline.pipelines.convert import encode
from pf_pipeline.pipelines.domain import Pipeline, PipelineFilter, PipelineVersion
from pf_pipeline.pipelines.memory import MemoryPipelineStore
from pf_pipeline.pipelines.postgres import PostgresPipelineStore
from pf_pipeline.pipelines.store import PipelineStore, pipeline_lock
from support.databases import fresh_database, migrated

MIGRATIONS = files("pf_pipeline") / "sql" / "migrations"
BEGAN = datetime(2030, 1, 1, tzinfo=UTC)
Kept = tuple[Database, PipelineStore]


@pytest.fixture(params=["memory", "postgres"])
async def kept(request: pytest.FixtureRequest) -> AsyncIterator[Kept]:
    if request.param == "memory":
        yield MemoryDatabase(encode=encode, clock=SystemClock()), MemoryPipelineStore()
        return
    async with (
        fresh_database(request.getfixturevalue("postgres_server")) as dsn,
        migrated(dsn, encode, schema="pipeline", folders=[MIGRATIONS]) as database,
    ):
        yield database, PostgresPipelineStore()


def version(pipeline: int, number: int, filesystem: str = "pantry") -> PipelineVersion:
    return PipelineVersion(
        pipeline=pipeline,
        number=number,
        document=f"name: soup # {number}\n\u00e4\U0001f372",
        digest=f"{number:064x}",
        filesystem=filesystem,
        path="./soup.yaml",
        author="alice",
        create_time=BEGAN,
    )


async def add(kept: Kept, owner: str, name: str) -> Pipeline:
    database, store = kept
    async with database.change(f"{owner}/{name}") as change:
        number = await store.next_number(change)
        pipeline = Pipeline(number=number, name=name, owner=owner, create_time=BEGAN, update_time=BEGAN)
        return await store.add(change, pipeline, version(number, 1))


async def names(kept: Kept, chosen: PipelineFilter, before: int = 0, limit: int = 100) -> list[str]:
    database, store = kept
    return [f"{each.owner}/{each.name}" for each in await store.page(database.newest, chosen, before, limit)]


async def test_a_pipeline_is_kept_with_its_first_version(kept: Kept) -> None:
    database, store = kept
    soup = await add(kept, "alice", "soup")
    assert soup.version > 0
    assert await store.pipeline(database.newest, soup.number) == soup
    assert await store.version(database.newest, soup.number, 1) == version(soup.number, 1)
    assert await store.version(database.newest, soup.number, 2) is None
    assert await store.pipeline(database.newest, soup.number + 1) is None


async def test_an_owner_has_one_of_a_name(kept: Kept) -> None:
    first = await add(kept, "alice", "soup")
    other = await add(kept, "bobby", "soup")
    assert other.number > first.number
    with pytest.raises(PipelineExists, match="alice has a pipeline 'soup'"):
        await add(kept, "alice", "soup")


async def test_they_are_listed_newest_first_a_page_at_a_time(kept: Kept) -> None:
    made = [await add(kept, owner, name) for owner, name in (("alice", "a"), ("bobby", "b"), ("alice", "c"))]
    assert await names(kept, PipelineFilter()) == ["alice/c", "bobby/b", "alice/a"]
    assert await names(kept, PipelineFilter(), limit=2) == ["alice/c", "bobby/b"]
    assert await names(kept, PipelineFilter(), before=made[1].number) == ["alice/a"]
    assert await names(kept, PipelineFilter(owners=frozenset({"alice"}))) == ["alice/c", "alice/a"]
    assert await names(kept, PipelineFilter(names=frozenset({"a", "b"}))) == ["bobby/b", "alice/a"]
    assert await names(kept, PipelineFilter(seen_by=Owner("bobby"))) == ["bobby/b"]
    assert await names(kept, PipelineFilter(owners=frozenset({"alice"}), seen_by=Owner("bobby"))) == []


async def test_each_change_has_a_higher_number(kept: Kept) -> None:
    database, store = kept
    soup = await add(kept, "alice", "soup")
    async with database.change(pipeline_lock(soup.id)) as change:
        saved = await store.save(change, replace(soup, description="hot", newest=3, last=4))
        await store.add_version(change, version(soup.number, 3))
    assert saved.version > soup.version
    assert await store.pipeline(database.newest, soup.number) == saved
    async with database.change(pipeline_lock(soup.id)) as change:
        assert await store.remove(change, soup.number) > saved.version
    assert await store.pipeline(database.newest, soup.number) is None
    assert await store.version(database.newest, soup.number, 1) is None
    again = await add(kept, "alice", "soup")
    assert again.number > soup.number


async def test_versions_are_listed_newest_first_without_their_documents(kept: Kept) -> None:
    database, store = kept
    soup, other = await add(kept, "alice", "soup"), await add(kept, "alice", "other")
    async with database.change(pipeline_lock(soup.id)) as change:
        await store.add_version(change, version(soup.number, 2, "cellar"))
        await store.add_version(change, version(soup.number, 3, ""))

    async def numbers(filesystems: tuple[str, ...] = (), before: int = 0, limit: int = 9) -> list[int]:
        found = await store.versions(database.newest, soup.number, filesystems, before, limit)
        assert {each.document for each in found} <= {""}
        return [each.number for each in found]

    assert await numbers() == [3, 2, 1]
    assert await numbers(limit=2) == [3, 2]
    assert await numbers(before=3) == [2, 1]
    assert await numbers(("pantry", "cellar")) == [2, 1]
    async with database.change(pipeline_lock(soup.id)) as change:
        await store.remove_version(change, soup.number, 2)
    assert await numbers() == [3, 1]
    assert await store.version(database.newest, other.number, 1) is not None
