"""What every store of leases promises, asked of each, with time passing as the test says."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from pf_kit.leases import Lease, LeaseStore, MemoryLeases
from pf_kit.postgres.leases import PostgresLeases
from pf_kit.postgres.views import rows
from support.databases import fresh_database
from support.probe import postgres_database

TTL = 60.0


@dataclass(frozen=True)
class Stage:
    store: LeaseStore
    wait: Callable[[float], Awaitable[None]]


class SetClock:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.passed = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.passed)

    def monotonic(self) -> float:
        return self.passed


@pytest.fixture(params=["memory", "postgres"])
async def stage(request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    if request.param == "memory":
        yield memory_stage()
        return
    server = request.getfixturevalue("postgres_server")
    async with fresh_database(server) as dsn, postgres_database(dsn) as database:
        view = rows(database.newest)

        async def wait(seconds: float) -> None:
            await view.execute("update leases set expires = expires - $1::interval", timedelta(seconds=seconds))

        yield Stage(PostgresLeases(view), wait)


def memory_stage() -> Stage:
    clock = SetClock()

    async def wait(seconds: float) -> None:
        clock.passed += seconds

    return Stage(MemoryLeases(clock), wait)


async def take(stage: Stage, holder: str) -> Lease | None:
    return await stage.store.acquire("x", holder, f"{holder}:1", TTL)


async def taken(stage: Stage, holder: str) -> Lease:
    lease = await take(stage, holder)
    assert lease is not None
    return lease


async def test_a_lease_tells_who_holds_it_and_where(stage: Stage) -> None:
    lease = await taken(stage, "a")
    assert (lease.name, lease.holder, lease.address, lease.fence) == ("x", "a", "a:1", 1)
    assert await stage.store.read("x") == lease
    assert await stage.store.read("y") is None


async def test_nobody_takes_a_lease_that_is_held_not_even_its_holder(stage: Stage) -> None:
    await taken(stage, "a")
    assert await take(stage, "b") is None
    assert await take(stage, "a") is None


async def test_leases_of_different_names_are_strangers(stage: Stage) -> None:
    await taken(stage, "a")
    other = await stage.store.acquire("y", "b", "", TTL)
    assert other
    assert other.fence == 1


async def test_a_lease_that_is_over_goes_to_the_next_with_a_higher_fence(stage: Stage) -> None:
    first = await taken(stage, "a")
    await stage.wait(TTL + 1)
    assert await stage.store.read("x") is None
    second = await taken(stage, "b")
    assert second.fence == first.fence + 1


async def test_a_renewed_lease_lasts_longer_and_keeps_its_fence(stage: Stage) -> None:
    lease = await taken(stage, "a")
    await stage.wait(TTL - 5)
    renewed = await stage.store.renew(lease, TTL)
    assert renewed
    assert renewed.fence == lease.fence
    await stage.wait(TTL - 5)
    assert await take(stage, "b") is None


async def test_a_lease_that_is_over_cannot_be_renewed(stage: Stage) -> None:
    lease = await taken(stage, "a")
    await stage.wait(TTL + 1)
    assert await stage.store.renew(lease, TTL) is None
    await taken(stage, "b")
    assert await stage.store.renew(lease, TTL) is None


async def test_a_released_lease_is_free_and_its_fence_used_up(stage: Stage) -> None:
    lease = await taken(stage, "a")
    await stage.store.release(lease)
    assert await stage.store.read("x") is None
    assert (await taken(stage, "b")).fence == lease.fence + 1


async def test_who_lost_a_lease_cannot_release_it(stage: Stage) -> None:
    old = await taken(stage, "a")
    await stage.wait(TTL + 1)
    new = await taken(stage, "b")
    await stage.store.release(old)
    assert await stage.store.read("x") == new


async def test_a_clock_that_is_set_back_by_an_hour_keeps_nobody_waiting_for_an_hour(stage: Stage) -> None:
    lost = await taken(stage, "a")
    await stage.wait(-3600)
    assert await stage.store.read("x") is None
    assert (await taken(stage, "b")).fence == lost.fence + 1
    assert await stage.store.renew(lost, TTL) is None


async def test_a_clock_that_goes_back_a_little_takes_the_lease_from_nobody(stage: Stage) -> None:
    lease = await taken(stage, "a")
    await stage.wait(-TTL / 2)
    assert await take(stage, "b") is None
    assert await stage.store.renew(lease, TTL)


async def test_a_released_lease_does_not_come_back_with_an_older_time(stage: Stage) -> None:
    lease = await taken(stage, "a")
    await stage.store.release(lease)
    await stage.wait(-TTL / 2)
    assert await stage.store.read("x") is None
    assert await take(stage, "b")


@pytest.mark.parametrize("seed", range(6))
async def test_any_story_is_the_same_in_each_store(stage: Stage, seed: int) -> None:
    """The store in memory, which the tests above check, tells what each other store has to answer."""
    chance = random.Random(seed)
    model = memory_stage()
    known: list[tuple[Lease, Lease]] = []
    for _ in range(60):
        match chance.choice(["acquire", "acquire", "renew", "release", "wait"]):
            case "acquire":
                holder = chance.choice("abc")
                mine, its = await take(model, holder), await take(stage, holder)
                assert fence(mine) == fence(its)
                if mine and its:
                    known.append((mine, its))
            case "renew" if known:
                mine, its = chance.choice(known)
                assert fence(await model.store.renew(mine, TTL)) == fence(await stage.store.renew(its, TTL))
            case "release" if known:
                mine, its = chance.choice(known)
                await model.store.release(mine)
                await stage.store.release(its)
            case _:
                seconds = chance.choice([10.0, TTL + 5, -10.0, -3 * TTL])
                await model.wait(seconds)
                await stage.wait(seconds)
        assert fence(await model.store.read("x")) == fence(await stage.store.read("x"))


def fence(lease: Lease | None) -> int:
    return lease.fence if lease else 0
