"""What every store of datasets and shards promises, asked of each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import Any

import pytest

from pf_job.jobs.domain import Job, Task, TaskKey, TaskState
from pf_job.jobs.life import Life
from pf_job.jobs.memory import MemoryJobStore
from pf_job.jobs.postgres import PostgresJobStore
from pf_job.jobs.store import JobStore, job_lock
from pf_job.shards.domain import Claim, Dataset, DatasetKey, Lease, Plan, Shard, ShardState
from pf_job.shards.memory import MemoryShardStore
from pf_job.shards.postgres import PostgresShardStore
from pf_job.shards.store import ShardStore
from pf_job.specs.domain import JobSpec, JobType
from pf_kit.clock import SystemClock
from pf_kit.events import Fact
from pf_kit.memory import MemoryDatabase
from pf_kit.unit import Change, Database
from support.databases import fresh_database, migrated

MIGRATIONS = files("pf_job") / "sql" / "migrations"
NOW = datetime(2030, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
KEY = DatasetKey("j", "d")
PLAN = Plan(total=95, size=10, passes=3, lease=7 * SECOND, retries=2, seed=-5, digest=b"\0\1")
Kept = tuple[Database, JobStore, ShardStore]


def no_events(event: object) -> Fact:
    raise TypeError(event)


@pytest.fixture(params=["memory", "postgres"])
async def kept(request: pytest.FixtureRequest) -> AsyncIterator[Kept]:
    """A store with the jobs j and k, and with a dataset of j."""
    if request.param == "memory":
        memory: Kept = MemoryDatabase(encode=no_events, clock=SystemClock()), MemoryJobStore(), MemoryShardStore()
        await begin(memory)
        yield memory
        return
    async with (
        fresh_database(request.getfixturevalue("postgres_server")) as dsn,
        migrated(dsn, no_events, schema="job", folders=[MIGRATIONS]) as database,
    ):
        jobs = PostgresJobStore(encode=lambda spec: spec.id.encode(), decode=lambda data: JobSpec(id=data.decode()))
        begun: Kept = database, jobs, PostgresShardStore()
        await begin(begun)
        yield begun


async def begin(kept: Kept) -> None:
    database, jobs, shards = kept
    async with database.change(job_lock("j")) as change:
        await jobs.add(change, [job("j"), job("k")])
        await shards.add(change, dataset(), ["a", "b", "ä"])


def job(id_: str) -> Job:
    return Job(id=id_, owner="ada", type=JobType.SINGLE, spec=JobSpec(id=id_), life=Life(accept_time=NOW))


def dataset(name: str = "d", **more: Any) -> Dataset:
    return Dataset(key=DatasetKey("j", name), plan=PLAN, create_time=NOW, update_time=NOW, **more)


def shard(number: int, **more: Any) -> Shard:
    given = {"lease": Lease(1, number, number + 1), "holder": holder(number), "until": NOW + number * SECOND}
    return Shard(**{**given, **more})


def holder(index: int) -> TaskKey:
    return TaskKey("j", 1, "worker", index, 0)


async def put(kept: Kept, *shards: Shard) -> None:
    async with kept[0].change(job_lock("j")) as change:
        await kept[2].keep(change, dataset(), shards, [])


async def every(kept: Kept) -> Sequence[Shard]:
    return await kept[2].shards(kept[0].newest, KEY, list(ShardState), (0, -1), 100)


async def test_a_dataset_is_kept_as_it_was_given(kept: Kept) -> None:
    database, _, shards = kept
    moved = replace(
        dataset(),
        pass_=2,
        handed=5,
        returned=1,
        done=2,
        failed=1,
        failed_in_all=9,
        kept=4,
        epoch=77,
        update_time=NOW + SECOND,
    )
    async with database.change(job_lock("j")) as change:
        await shards.add(change, replace(dataset("e"), plan=Plan(total=1)), [])
        await shards.keep(change, moved, [], [])
    assert list(await shards.datasets(database.newest, "j", ["d", "nothing"])) == [moved]
    assert await shards.datasets(database.newest, "k", ["d"]) == []
    assert [each.key.name for each in await shards.page(database.newest, "j", "", 5)] == ["d", "e"]
    assert [each.key.name for each in await shards.page(database.newest, "j", "", 1)] == ["d"]
    assert [each.key.name for each in await shards.page(database.newest, "j", "d", 5)] == ["e"]
    (other,) = await shards.datasets(database.newest, "j", ["e"])
    assert (other.plan.seed, other.plan.digest) == (None, b"")


async def test_items_are_found_by_their_places(kept: Kept) -> None:
    database, _, shards = kept
    assert list(await shards.items(database.newest, KEY, 1, 2)) == ["b", "ä"]
    assert list(await shards.items(database.newest, KEY, 2, 5)) == ["ä"]
    assert list(await shards.items(database.newest, DatasetKey("j", "e"), 0, 5)) == []


async def test_many_items_are_found_wherever_they_lie(kept: Kept) -> None:
    database, _, shards = kept
    items = [str(place) for place in range(1234)]
    async with database.change(job_lock("j")) as change:
        await shards.add(change, replace(dataset("e"), plan=Plan(total=1234)), items)
    for first, count in ((0, 1), (99, 2), (100, 100), (150, 300), (1200, 34), (1233, 5), (0, 1234)):
        found = await shards.items(database.newest, DatasetKey("j", "e"), first, count)
        assert list(found) == items[first : first + count]


async def test_shards_are_replaced_found_and_forgotten(kept: Kept) -> None:
    database, _, shards = kept
    first, second, failed = (
        shard(1, request="r1"),
        shard(2, request="r2"),
        shard(3, state=ShardState.FAILED, request="r3"),
    )
    await put(kept, second, first, failed)
    assert list(await every(kept)) == [first, second, failed]
    found = await shards.named(database.newest, KEY, [(1, 1), (2, 2), (1, 9)], ["r2", "r3", "", "r9"])
    assert sorted(found, key=lambda each: each.lease) == [first, second]
    again = replace(
        first,
        lease=Lease(1, 1, 9),
        state=ShardState.RETURNED,
        failures=1,
        reason="ü",
        holder=holder(7),
        request="",
        until=NOW,
    )
    await put(kept, again)
    assert list(await every(kept)) == [again, second, failed]
    assert await shards.shards(database.newest, KEY, [ShardState.LEASED], (0, -1), 5) == [second]
    assert await shards.shards(database.newest, KEY, list(ShardState), (1, 1), 1) == [second]
    async with database.change(job_lock("j")) as change:
        await shards.keep(change, dataset(), [shard(4)], [(1, 2), (1, 3), (5, 5)])
    assert list(await every(kept)) == [again, shard(4)]
    async with database.change(job_lock("j")) as change:
        await shards.clear(change, KEY)
    assert list(await every(kept)) == []


async def test_what_can_be_leased_again_is_found_longest_first(kept: Kept) -> None:
    database, jobs, shards = kept
    now = NOW + 10 * SECOND
    await put(
        kept,
        shard(1, until=now + SECOND),
        shard(2, until=now),
        shard(3, until=NOW, state=ShardState.RETURNED),
        shard(4, until=NOW, state=ShardState.FAILED),
        shard(5, until=now + 2 * SECOND),
    )
    async with database.change(job_lock("j")) as change:
        await jobs.put_tasks(
            change, [Task(key=holder(5), state=TaskState.LOST), Task(key=holder(1), state=TaskState.RUNNING)]
        )
    found = await shards.claims(database.newest, KEY, now, 10)
    assert [(claim.shard.lease.number, claim.ended) for claim in found] == [(3, None), (2, None), (5, TaskState.LOST)]
    assert found[0] == Claim(shard(3, until=NOW, state=ShardState.RETURNED))
    assert [claim.shard.lease.number for claim in await shards.claims(database.newest, KEY, now, 1)] == [3]


async def test_all_goes_with_the_job(kept: Kept) -> None:
    database, jobs, shards = kept
    await put(kept, shard(1))
    async with database.change(job_lock("j")) as change:
        await jobs.remove(change, ["j"])
    assert await shards.datasets(database.newest, "j", ["d"]) == []
    assert await shards.page(database.newest, "j", "", 5) == []


async def test_nothing_is_kept_of_a_change_that_fails(kept: Kept) -> None:
    database, _, shards = kept

    async def fail(change: Change) -> None:
        await shards.keep(change, replace(dataset(), done=1), [shard(1)], [])
        raise RuntimeError

    with pytest.raises(RuntimeError):
        async with database.change(job_lock("j")) as change:
            await fail(change)
    assert list(await every(kept)) == []
    assert list(await shards.datasets(database.newest, "j", ["d"])) == [dataset()]
