"""Many callers share a commit, and none is harmed by another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from paddleflow.problems import DatasetNotFound, TokenRevoked, Unavailable
from pf_job.jobs.bearers import Bearer
from pf_job.jobs.domain import Job, TaskKey
from pf_job.jobs.life import Life
from pf_job.jobs.memory import MemoryJobStore
from pf_job.jobs.service import Jobs
from pf_job.jobs.states import Stage
from pf_job.jobs.store import job_lock
from pf_job.shards.domain import DatasetKey, Plan, Shard
from pf_job.shards.memory import MemoryShardStore
from pf_job.shards.service import Call, Shards
from pf_job.shards.sheet import Wish
from pf_job.shards.together import MOST, Together
from pf_job.specs.domain import JobSpec, JobType
from pf_kit.clock import SystemClock
from pf_kit.events import Fact
from pf_kit.memory import MemoryDatabase
from pf_kit.unit import Change

SHARDS = 3 * MOST


def no_events(event: object) -> Fact:
    raise TypeError(event)


@dataclass
class Counting:
    """A database that counts changes, holds up commits, and fails when it is told to."""

    inner: MemoryDatabase = field(default_factory=lambda: MemoryDatabase(encode=no_events, clock=SystemClock()))
    changes: int = 0
    committing: asyncio.Event = field(default_factory=asyncio.Event)
    free: asyncio.Event = field(default_factory=asyncio.Event)
    away: bool = False

    @asynccontextmanager
    async def change(self, *locks: str) -> AsyncIterator[Change]:
        async with self.inner.change(*locks) as change:
            yield change
            self.changes += 1
            self.committing.set()
            await self.free.wait()
            if self.away:
                raise Unavailable("the database is away")


class Site:
    """A job with a dataset, and the replicas of it."""

    def __init__(self) -> None:
        self.database = Counting()
        self.jobs = MemoryJobStore()
        jobs = Jobs(store=self.jobs, sight=None)  # type: ignore[arg-type]  # nobody asks
        self.shards = Shards(store=MemoryShardStore(), kept=self.jobs, jobs=jobs)
        self.together = Together(database=self.database, shards=self.shards)  # type: ignore[arg-type]  # its changes will do

    async def begin(self) -> None:
        life = replace(Life(accept_time=datetime(2030, 1, 1, tzinfo=UTC)), stage=Stage.WATCH)
        job = Job(id="j", owner="ada", type=JobType.SINGLE, spec=JobSpec(id="j"), life=life)
        async with self.database.inner.change(job_lock("j")) as change:
            await self.jobs.add(change, [job])
            await self.shards.open(change, DatasetKey("j", "d"), Plan(total=SHARDS), ())

    async def lease(self, index: int, **more: Any) -> int:
        """The number of the shard that a replica gets."""
        key = TaskKey("j", more.get("attempt", 1), "worker", index, 0)
        answer = await self.together.answer(Call(Bearer(1, key), more.get("dataset", "d"), Wish(key)))
        assert isinstance(answer.outcome, Shard)
        return answer.outcome.lease.number


@pytest.fixture
async def site() -> Site:
    made = Site()
    await made.begin()
    return made


async def begun(site: Site, *indices: int) -> list[asyncio.Task[int]]:
    """Replicas that ask, the first of which is being served."""
    asked = [asyncio.create_task(site.lease(index)) for index in indices[:1]]
    await site.database.committing.wait()
    asked += [asyncio.create_task(site.lease(index)) for index in indices[1:]]
    await asyncio.sleep(0)
    return asked


async def test_who_comes_during_a_commit_shares_the_next(site: Site) -> None:
    asked = await begun(site, *range(100))
    site.database.free.set()
    assert sorted(await asyncio.gather(*asked)) == list(range(100))
    assert site.database.changes == 2


async def test_no_commit_serves_too_many(site: Site) -> None:
    asked = await begun(site, *range(2 * MOST + 2))
    site.database.free.set()
    assert sorted(await asyncio.gather(*asked)) == list(range(2 * MOST + 2))
    assert site.database.changes == 4


async def test_who_goes_away_takes_nothing_from_the_others(site: Site) -> None:
    first, *others = await begun(site, *range(5))
    first.cancel()
    others[1].cancel()
    site.database.free.set()
    left = await asyncio.gather(first, *others, return_exceptions=True)
    assert [isinstance(each, asyncio.CancelledError) for each in left] == [True, False, True, False, False]


async def test_each_has_its_own_problem(site: Site) -> None:
    site.database.free.set()
    asked = (site.lease(0), site.lease(1, attempt=2), site.lease(2, dataset="e"), site.lease(3))
    one, late, lost, other = await asyncio.gather(*asked, return_exceptions=True)
    assert (one, other) == (0, 1)
    assert isinstance(late, TokenRevoked)
    assert isinstance(lost, DatasetNotFound)


async def test_a_database_that_is_away_is_told_to_all_and_asked_again(site: Site) -> None:
    asked = await begun(site, *range(3))
    site.database.away = True
    site.database.free.set()
    for outcome in await asyncio.gather(*asked, return_exceptions=True):
        assert isinstance(outcome, Unavailable)
    site.database.away = False
    assert await site.lease(7) == 0
