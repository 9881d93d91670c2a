"""The loop of a trainer, in this process with the token of a real job."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing

import pytest

import paddleflow
from fixtures_jobs import JobSite
from paddleflow.aio import AsyncPaddleFlow
from paddleflow.job.v1 import job_pb2, shard_pb2
from paddleflow.models import DatasetPlan, ShardState
from paddleflow.problems import DatasetDiffers, FailedPrecondition, TokenRevoked, Unavailable
from paddleflow.training import Shard, async_shards, shards
from support.replicas import Replica, waiting_replica
from support.waiting import eventually, until


@pytest.fixture
async def replica(job_site: JobSite, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Replica]:
    """This process is one."""
    async with waiting_replica(job_site) as found:
        monkeypatch.setenv("PF_JOB_TOKEN", found.token)
        monkeypatch.setenv("PF_JOB_ENDPOINT", found.endpoint)
        yield found


async def in_thread(work: Callable[[], None]) -> None:
    """Runs what a trainer does, beside the test."""
    await asyncio.to_thread(work)


async def test_all_records_come_in_each_pass(replica: Replica) -> None:
    seen: list[tuple[int, object]] = []

    def train() -> None:
        for shard in paddleflow.shards("d", total=10, size=4, passes=2):
            seen.extend((shard.pass_number, record) for record in shard)

    await in_thread(train)
    assert seen == [(pass_, record) for pass_ in (1, 2) for record in range(10)]
    left = await replica.dataset()
    assert (left.over, left.done, left.shards) == (True, 3, 3)


async def test_a_loop_over_one_pass_ends_with_it(replica: Replica) -> None:
    def train() -> None:
        for epoch in (1, 2):
            numbers = [shard.number for shard in shards("d", total=10, size=5, passes=2, pass_number=epoch)]
            assert numbers == [0, 1]
        assert list(shards("d", total=10, size=5, passes=2, pass_number=1)) == [], "one that comes late"

    await in_thread(train)


async def test_items_are_what_a_shard_gives(replica: Replica) -> None:
    assert replica.job

    def train() -> None:
        found = {shard.number: list(shard) for shard in shards("files", items=["a", "b", "c"], size=2)}
        assert found == {0: ["a", "b"], 1: ["c"]}
        with pytest.raises(DatasetDiffers):
            next(shards("files", items=["a"]))

    await in_thread(train)


async def test_what_becomes_of_a_shard_is_the_trainers_word(job_site: JobSite, replica: Replica) -> None:
    def train() -> None:
        for shard in shards("d", total=4, retries=9):
            if shard.number == 0 and not shard.failures:
                shard.fail("torn")
            if shard.number == 1 and not shard.failures:
                with pytest.raises(ZeroDivisionError), shard:
                    _ = 1 // 0
            if shard.number == 2:
                shard.give_back("no time")
                break
        for _ in shards("d", total=4, retries=9):
            break

    await in_thread(train)
    async with AsyncPaddleFlow(job_site.connection()) as client:
        found = {each.lease.number: each async for each in client.datasets.shards(replica.job, "d")}
    assert all(each.state is ShardState.RETURNED for each in found.values())
    told = {number: (each.failures, each.reason) for number, each in found.items()}
    assert told == {
        0: (1, "torn"),
        1: (1, "ZeroDivisionError: integer division or modulo by zero"),
        2: (0, "no time"),
        3: (1, "the trainer left it before it was done"),
    }


async def test_a_lease_is_renewed_as_long_as_the_trainer_works(replica: Replica) -> None:
    entered, leave = threading.Event(), threading.Event()

    def train() -> None:
        for shard in shards("d", total=1, lease=1):
            entered.set()
            assert leave.wait(30)
            assert not shard.lost

    working = asyncio.create_task(in_thread(train))
    await until(entered.is_set)
    begun = time.monotonic()
    while time.monotonic() < begun + 2.5:
        assert (await replica.lease()).HasField("wait"), "nobody else gets it"
        await asyncio.sleep(0.1)
    leave.set()
    await working
    assert (await replica.dataset()).over


async def test_a_shard_that_takes_too_long_is_given_up_for_others(replica: Replica) -> None:
    entered, leave = threading.Event(), threading.Event()

    def train() -> None:
        for _ in shards("d", total=1, lease=1, longest=0.5):
            assert not entered.is_set(), "it is had once"
            entered.set()
            assert leave.wait(30)

    working = asyncio.create_task(in_thread(train))
    await until(entered.is_set)

    async def leased() -> shard_pb2.ShardLease | None:
        reply = await replica.lease()
        return reply.shard.lease if reply.HasField("shard") else None

    lease = await eventually(leased)
    assert (await replica.call(shard_pb2.FinishShardRequest(lease=lease))).counted
    leave.set()
    await working
    assert (await replica.dataset()).done == 1


async def test_a_trainer_learns_that_its_shard_is_lost(job_site: JobSite, replica: Replica) -> None:
    taken: list[Shard] = []

    def train() -> None:
        for shard in shards("d", total=1, lease=1):
            taken.append(shard)
            deadline = time.monotonic() + 20
            while not (shard.lost or len(taken) > 1):
                assert time.monotonic() < deadline
                time.sleep(0.01)

    working = asyncio.create_task(in_thread(train))
    await until(lambda: len(taken) == 1)
    async with AsyncPaddleFlow(job_site.connection()) as client:
        begun = await client.datasets.reset(replica.job, "d")
    assert begun.leased == 0
    await working
    assert [shard.lost for shard in taken] == [True, False]


async def test_programs_with_asyncio_have_the_same(replica: Replica) -> None:
    seen: list[object] = []
    async for shard in async_shards("d", total=5, size=2, seed=4):
        seen.extend(shard)
    assert sorted(seen) == list(range(5))  # type: ignore[type-var]  # numbers
    async with aclosing(async_shards("e", total=1, retries=0)) as data:
        async for shard in data:
            assert len(shard) == 1
            break
    left = await replica.dataset("e")
    assert (left.over, left.failed) == (True, 1)


async def test_owners_see_how_far_it_is(job_site: JobSite, replica: Replica) -> None:
    async with AsyncPaddleFlow(job_site.connection()) as client:
        plan = DatasetPlan("mine", total=7, size=2, seed=-3)
        opened = await client.datasets.open(replica.job, plan)
        assert (opened.plan, opened.shards, opened.todo) == (plan, 4, 4)
        assert [each async for each in client.datasets.list(replica.job)] == [opened]
        assert await client.datasets.get(replica.job, "mine") == opened


async def test_outside_of_a_job_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PF_JOB_TOKEN", raising=False)
    monkeypatch.setenv("PF_JOB_ENDPOINT", "localhost:1")
    with pytest.raises(FailedPrecondition, match="PF_JOB_TOKEN not set: this program does not run in a job"):
        next(shards("d", total=1))


async def test_patience_ends_when_it_was_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PF_JOB_TOKEN", "x")
    monkeypatch.setenv("PF_JOB_ENDPOINT", "127.0.0.1:1")
    with pytest.raises(Unavailable, match=r"no answer from 127\.0\.0\.1:1"):
        await asyncio.to_thread(lambda: next(shards("d", total=1, patience=0)))


async def test_a_trainer_whose_job_is_over_stops(job_site: JobSite, replica: Replica) -> None:
    await job_site.root(job_pb2.StopJobRequest(id=replica.job, now=True))

    async def over() -> bool:
        return bool((await job_site.root(job_pb2.GetJobRequest(id=replica.job))).job.HasField("finish_time"))

    await eventually(over)
    with pytest.raises(TokenRevoked, match="is over"):
        await asyncio.to_thread(lambda: next(shards("d", total=1)))
