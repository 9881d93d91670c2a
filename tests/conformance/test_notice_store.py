"""What every store of notices promises, asked of each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from importlib.resources import files
from typing import Any

import pytest

from pf_kit.clock import SystemClock
from pf_kit.events import Fact
from pf_kit.memory import MemoryDatabase
from pf_kit.unit import Database
from pf_pipeline.notices.domain import Means, Notice, NoticeState
from pf_pipeline.notices.memory import MemoryNoticeStore
from pf_pipeline.notices.postgres import PostgresNoticeStore
from pf_pipeline.notices.store import NoticeStore
from support.databases import fresh_database, migrated

MIGRATIONS = files("pf_pipeline") / "sql" / "migrations"
LEASE = timedelta(seconds=60)
Kept = tuple[Database, NoticeStore]


def no_events(event: object) -> Fact:
    raise TypeError(event)


@pytest.fixture(params=["memory", "postgres"])
async def kept(request: pytest.FixtureRequest) -> AsyncIterator[Kept]:
    if request.param == "memory":
        yield MemoryDatabase(encode=no_events, clock=SystemClock()), MemoryNoticeStore()
        return
    async with (
        fresh_database(request.getfixturevalue("postgres_server")) as dsn,
        migrated(dsn, no_events, schema="pipeline", folders=[MIGRATIONS]) as database,
    ):
        yield database, PostgresNoticeStore()


def a_notice(id_: str) -> Notice:
    return Notice(
        id=id_,
        run=id_.rpartition("-")[0],
        owner="alice",
        means=Means.WEBHOOK,
        target="https://example.com/hook",
        secret_file="keys/hook",
        filesystem="fs-alice-data",
        body='{"run": "é"}',
    )


async def add(kept: Kept, *ids: str) -> None:
    database, store = kept
    async with database.change() as change:
        await store.add(change, list(map(a_notice, ids)))


async def claim(kept: Kept, limit: int = 9, lease: timedelta = LEASE, without: Sequence[str] = ()) -> list[Notice]:
    database, store = kept
    async with database.change() as change:
        return list(await store.claim(change, lease, limit, without))


async def test_a_notice_is_kept_whole_and_due_at_once(kept: Kept) -> None:
    database, store = kept
    await add(kept, "run-1-0", "run-1-1", "run-2-0")
    first, second = await store.of_run(database.newest, "run-1")
    assert (replace(first, due_time=a_notice("run-1-0").due_time), second.id) == (a_notice("run-1-0"), "run-1-1")
    assert {notice.id for notice in await claim(kept)} == {"run-1-0", "run-1-1", "run-2-0"}


async def test_what_is_kept_already_stays_as_it_is(kept: Kept) -> None:
    database, store = kept
    await add(kept, "run-1-0")
    (claimed,) = await claim(kept)
    await add(kept, "run-1-0")
    assert await store.of_run(database.newest, "run-1") == [claimed]


async def test_a_claimed_notice_is_nobody_elses_until_its_lease_is_over(kept: Kept) -> None:
    await add(kept, "run-1-0", "run-2-0")
    first = await claim(kept, limit=1)
    assert [(notice.id, notice.attempts) for notice in first] == [("run-1-0", 1)]
    assert [notice.id for notice in await claim(kept, lease=timedelta(0))] == ["run-2-0"]
    assert [(notice.id, notice.attempts) for notice in await claim(kept)] == [("run-2-0", 2)]
    assert await claim(kept) == []


async def test_of_two_who_claim_at_once_each_gets_its_own(kept: Kept) -> None:
    await add(kept, *(f"run-{number}-0" for number in range(20)))
    claimed = await asyncio.gather(*(claim(kept, limit=10) for _ in range(4)))
    ids = [notice.id for notices in claimed for notice in notices]
    assert len(ids) == len(set(ids)) == 20


async def test_what_was_delivered_or_given_up_is_not_due_again(kept: Kept) -> None:
    database, store = kept
    await add(kept, "run-1-0", "run-1-1", "run-1-2")
    one, two, three = await claim(kept)
    settled = [
        replace(one, state=NoticeState.DELIVERED),
        replace(two, state=NoticeState.GIVEN_UP, message="no"),
        replace(three, message="later", due_time=three.due_time - LEASE),
    ]
    async with database.change() as change:
        await store.settle(change, settled)
    assert await store.of_run(database.newest, "run-1") == settled
    assert [(notice.id, notice.message, notice.attempts) for notice in await claim(kept)] == [("run-1-2", "later", 2)]


async def test_the_notices_of_some_owners_can_be_left_out(kept: Kept) -> None:
    await add(kept, "run-1-0")
    assert await claim(kept, without=["nobody", a_notice("run-1-0").owner]) == []
    assert [notice.id for notice in await claim(kept, without=["nobody"])] == ["run-1-0"]


async def test_of_an_attempt_whose_lease_is_over_only_its_success_counts(kept: Kept) -> None:
    database, store = kept

    async def settle(notice: Notice, **how: Any) -> Notice:
        async with database.change() as change:
            await store.settle(change, [replace(notice, **how)])
        (kept_now,) = await store.of_run(database.newest, "run-1")
        return kept_now

    await add(kept, "run-1-0")
    (late,) = await claim(kept, lease=timedelta(0))
    (newer,) = await claim(kept)
    assert await settle(late, message="no answer", due_time=late.due_time) == newer
    assert (await settle(late, state=NoticeState.DELIVERED)).state is NoticeState.DELIVERED
    assert (await settle(newer, message="answered 500")).state is NoticeState.DELIVERED
