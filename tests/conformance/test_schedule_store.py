"""What every store of schedules promises, asked of each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from paddleflow.problems import Conflict, ScheduleExists
from pf_kit.clock import SystemClock
from pf_pipeline.owners import Owner
from pf_pipeline.schedules.domain import Catchup, Policy, ScheduleFilter, ScheduleState, Tick, TickKey
from support.schedules import MINUTE, START, Kept, a_schedule, kept_in_memory, kept_in_postgres, placed


@pytest.fixture(params=["memory", "postgres"])
async def kept(request: pytest.FixtureRequest) -> AsyncIterator[Kept]:
    if request.param == "memory":
        yield kept_in_memory(SystemClock())
        return
    async with kept_in_postgres(request.getfixturevalue("postgres_server")) as postgres:
        yield postgres


async def test_a_schedule_is_kept_whole(kept: Kept) -> None:
    draft = replace(
        a_schedule(
            crontab="CRON_TZ=Europe/Berlin 5 4 * * mon",
            time_zone="Europe/Berlin",
            end=START + 9 * MINUTE,
            concurrency=3,
            policy=Policy.REPLACE,
            expire=timedelta(seconds=90),
            catchup=Catchup.ONE,
        ),
        description="for tests\nonly",
        parameters={"epochs": 5.0, "names": ["a", None, True], "deep": {"é": "x"}},
    )
    added = await kept.add(draft)
    assert replace(added, number=0, version=0, create_time=draft.create_time, update_time=draft.update_time) == draft
    assert added.create_time == added.update_time > START
    assert await kept.get(draft.id) == added


async def test_ids_are_new(kept: Kept) -> None:
    async with kept.database.change() as change:
        first, second = await kept.store.new_id(change), await kept.store.new_id(change)
    assert first.startswith("schedule-")
    assert first < second


async def test_a_name_is_given_once_to_each_owner(kept: Kept) -> None:
    await kept.add(a_schedule("schedule-1"))
    await kept.add(replace(a_schedule("schedule-2"), name="schedule_1", owner="bobby"))
    with pytest.raises(ScheduleExists, match="alice has a schedule 'schedule_1'"):
        await kept.add(replace(a_schedule("schedule-3"), name="schedule_1"))


async def test_where_schedules_stand_is_saved(kept: Kept) -> None:
    one, two = await kept.add(a_schedule("schedule-1")), await kept.add(a_schedule("schedule-2"))
    paused = placed(one, state=ScheduleState.PAUSED, message="held", wake_time=None, looked_time=START + MINUTE)
    async with kept.database.change() as change:
        (saved,) = await kept.store.save(change, [paused])
    assert saved.version > two.version > one.version
    assert saved.update_time > one.update_time
    assert await kept.get("schedule-1") == saved
    assert await kept.get("schedule-2") == two
    async with kept.database.change() as change:
        assert await kept.store.save(change, []) == []


async def test_lists_are_chosen_and_cut(kept: Kept) -> None:
    one, two = await kept.add(a_schedule("schedule-1")), await kept.add(a_schedule("schedule-2"))
    three = await kept.add(replace(a_schedule("schedule-3"), owner="bobby", pipeline_id="ppl-2", pipeline_version=7))
    view = kept.database.newest
    assert await kept.store.page(view, ScheduleFilter(), 0, 2) == [three, two]
    assert await kept.store.page(view, ScheduleFilter(), two.number, 2) == [one]
    for chosen, found in [
        (ScheduleFilter(seen_by=Owner("bobby")), [three]),
        (ScheduleFilter(owners=frozenset({"alice", "carol"})), [two, one]),
        (ScheduleFilter(names=frozenset({"schedule_1", "schedule_3"})), [three, one]),
        (ScheduleFilter(pipeline_ids=frozenset({"ppl-2"})), [three]),
        (ScheduleFilter(pipeline_versions=frozenset({1})), [two, one]),
        (ScheduleFilter(states=frozenset({ScheduleState.PAUSED})), []),
        (ScheduleFilter(states=frozenset({ScheduleState.RUNNING}), names=frozenset({"schedule_2"})), [two]),
    ]:
        assert await kept.store.page(view, chosen, 0, 9) == found


async def test_those_that_wait_longest_are_due_first(kept: Kept) -> None:
    await kept.add(placed(a_schedule("schedule-1"), wake_time=START + 3 * MINUTE))
    await kept.add(placed(a_schedule("schedule-2"), wake_time=START + 2 * MINUTE))
    await kept.add(placed(a_schedule("schedule-3"), wake_time=None))
    await kept.add(placed(a_schedule("schedule-4"), wake_time=START + 4 * MINUTE))
    view, store = kept.database.newest, kept.store
    assert await store.due(view, START + 3 * MINUTE, 9) == ["schedule-2", "schedule-1"]
    assert await store.due(view, START + 9 * MINUTE, 1) == ["schedule-2"]
    assert await store.next_wake(view) == START + 2 * MINUTE


async def test_nothing_is_due_where_there_is_nothing(kept: Kept) -> None:
    assert await kept.store.next_wake(kept.database.newest) is None
    assert await kept.store.due(kept.database.newest, START, 9) == []


async def test_those_are_blocked_whose_tick_was_looked_at(kept: Kept) -> None:
    waiting = placed(a_schedule("schedule-1"), looked_time=START + MINUTE)
    blocked = [await kept.add(waiting), await kept.add(replace(waiting, id="schedule-2", name="other"))]
    await kept.add(a_schedule("schedule-3"))
    await kept.add(placed(replace(waiting, id="schedule-4", name="held"), state=ScheduleState.PAUSED))
    assert await kept.store.blocked(kept.database.newest, "", 9) == blocked
    assert await kept.store.blocked(kept.database.newest, "schedule-1", 9) == blocked[1:]
    assert await kept.store.blocked(kept.database.newest, "", 1) == blocked[:1]


async def test_a_tick_becomes_something_once(kept: Kept) -> None:
    await kept.add(a_schedule("schedule-1"))
    keys = [TickKey("schedule-1", START + number * MINUTE) for number in range(3)]
    async with kept.database.change() as change:
        await kept.store.keep_ticks(change, [Tick(keys[0], "run-1"), Tick(keys[1], "run-2", skipped=True)])
    with pytest.raises(Conflict):
        async with kept.database.change() as change:
            await kept.store.keep_ticks(change, [Tick(keys[2], "run-3"), Tick(keys[0], "run-4")])
    async with kept.database.change() as change:
        await kept.store.replace_ticks(change, [Tick(keys[1], "run-5"), Tick(keys[2], "run-6")])
    found = await kept.store.ticks(kept.database.newest, [*keys, TickKey("schedule-2", START)])
    assert sorted(found, key=lambda tick: tick.key) == [
        Tick(keys[0], "run-1"),
        Tick(keys[1], "run-5"),
        Tick(keys[2], "run-6"),
    ]


async def test_ticks_go_with_their_schedule(kept: Kept) -> None:
    await kept.add(a_schedule("schedule-1"))
    key = TickKey("schedule-1", START)
    async with kept.database.change() as change:
        await kept.store.keep_ticks(change, [Tick(key, "run-1")])
        await kept.store.remove(change, "schedule-1")
    assert await kept.store.schedules(kept.database.newest, ["schedule-1"]) == []
    assert await kept.store.ticks(kept.database.newest, [key]) == []


async def test_a_pipeline_is_used_until_its_schedules_are_over(kept: Kept) -> None:
    schedule = await kept.add(a_schedule("schedule-1"))
    view, store = kept.database.newest, kept.store
    assert await store.users(view, "ppl-000001", 0) == ["schedule_1"]
    assert await store.users(view, "ppl-000001", 1) == ["schedule_1"]
    assert await store.users(view, "ppl-000001", 2) == []
    assert await store.users(view, "ppl-000002", 0) == []
    async with kept.database.change() as change:
        await store.save(change, [placed(schedule, state=ScheduleState.TERMINATED)])
    assert await store.users(view, "ppl-000001", 0) == []
