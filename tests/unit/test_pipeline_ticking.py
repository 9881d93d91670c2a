"""Schedules make runs when their time has come, and only then."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from paddleflow.problems import (
    Conflict,
    DeadlineExceeded,
    FilesystemNotFound,
    Internal,
    Overloaded,
    PermissionDenied,
    Problem,
    TokenExpired,
    Unavailable,
    UserNotFound,
)
from pf_kit.events import BEGINNING
from pf_pipeline.schedules.domain import Policy, Rule, Schedule, ScheduleState, Tick, TickKey
from pf_pipeline.schedules.ticking import PAUSE, TOGETHER
from support.hand_clock import HandClock
from support.schedules import MINUTE, START, Kept, a_schedule, kept_in_memory, placed

SECOND = timedelta(seconds=1)


@dataclass
class Site:
    """Schedules in memory, and a clock that is moved by hand."""

    clock: HandClock = field(default_factory=lambda: HandClock(START.timestamp()))

    def __post_init__(self) -> None:
        self.kept: Kept = kept_in_memory(self.clock)
        self.ticker = self.kept.ticker(self.clock)

    async def add(self, schedule: Schedule | None = None, **rule: Any) -> Schedule:
        return await self.kept.add(schedule or a_schedule(**rule))

    async def at(self, time: timedelta) -> int:
        """Lets the ticker look at a time after the start."""
        self.clock.wall = (START + time).timestamp()
        return await self.ticker.step()

    async def runs(self) -> list[tuple[str, str]]:
        runs = await self.kept.runs.all(self.kept.database.newest)
        return [(f"{run.tick:%H:%M:%S}", run.state) for run in runs]

    async def ticks(self, *times: timedelta) -> list[Tick]:
        keys = [TickKey("schedule-000001", START + time) for time in times]
        return sorted(await self.kept.store.ticks(self.kept.database.newest, keys), key=lambda tick: tick.key)

    async def events(self) -> list[str]:
        log = self.kept.database.log
        return [event.fact.subject for event in await log.events_after(BEGINNING, 1000)]


@pytest.fixture
def site() -> Site:
    return Site()


async def test_a_run_is_made_at_each_tick(site: Site) -> None:
    await site.add()
    assert await site.at(59 * SECOND) == 0
    assert await site.runs() == []
    assert await site.at(MINUTE) == 1
    assert await site.at(MINUTE + SECOND) == 0
    assert await site.runs() == [("00:01:00", "running")]
    assert await site.ticks(MINUTE) == [Tick(TickKey("schedule-000001", START + MINUTE), "run-000001")]
    await site.at(2 * MINUTE + SECOND)
    assert await site.runs() == [("00:01:00", "running"), ("00:02:00", "running")]
    assert (await site.kept.get("schedule-000001")).standing.next_time == START + 3 * MINUTE


async def test_ticks_are_no_events_of_a_schedule_but_its_end_is(site: Site) -> None:
    await site.add(end=START + 2 * MINUTE)
    await site.at(MINUTE)
    assert await site.events() == []
    await site.at(2 * MINUTE)
    assert await site.events() == ["schedule/schedule-000001"]
    assert (await site.kept.get("schedule-000001")).standing.state is ScheduleState.SUCCESS
    await site.at(9 * MINUTE)
    assert len(await site.runs()) == 2


async def test_a_tick_waits_until_a_run_is_over(site: Site) -> None:
    await site.add(concurrency=1)
    await site.at(MINUTE)
    await site.at(2 * MINUTE)
    await site.at(2 * MINUTE + 30 * SECOND)
    assert await site.runs() == [("00:01:00", "running")]
    await site.kept.end("run-000001")
    await site.at(2 * MINUTE + 31 * SECOND)
    assert (await site.runs())[-1] == ("00:02:00", "running")


async def test_the_ticks_that_waited_are_not_passed_over(site: Site) -> None:
    await site.add(concurrency=1)
    for minute in range(1, 6):
        await site.at(minute * MINUTE)
    for number in range(1, 6):
        await site.kept.end(f"run-{number:06d}")
        await site.at(5 * MINUTE + number * SECOND)
    assert await site.runs() == [(f"00:0{minute}:00", "succeeded") for minute in range(1, 6)]


async def test_a_tick_is_passed_over_and_says_why(site: Site) -> None:
    await site.add(concurrency=1, policy=Policy.SKIP)
    await site.at(MINUTE)
    await site.at(2 * MINUTE)
    assert await site.runs() == [("00:01:00", "running"), ("00:02:00", "skipped")]
    (_, skipped) = await site.kept.runs.all(site.kept.database.newest)
    assert skipped.why == "1 runs of the schedule were under way"
    assert [tick.skipped for tick in await site.ticks(MINUTE, 2 * MINUTE)] == [False, True]


async def test_an_expired_tick_is_passed_over(site: Site) -> None:
    await site.add(expire=10 * SECOND)
    await site.at(2 * MINUTE + 10 * SECOND)
    assert await site.runs() == [("00:02:00", "running"), ("00:01:00", "skipped")]
    (_, skipped) = await site.kept.runs.all(site.kept.database.newest)
    assert skipped.why == "the tick expired: no run began within 10 s"


async def test_a_new_run_takes_the_place_of_the_oldest(site: Site) -> None:
    await site.add(concurrency=2, policy=Policy.REPLACE)
    for minute in range(1, 5):
        await site.at(minute * MINUTE)
    assert [state for _, state in await site.runs()] == ["terminated", "terminated", "running", "running"]


async def test_nothing_is_made_while_a_schedule_is_held(site: Site) -> None:
    await site.add(placed(a_schedule(), state=ScheduleState.PAUSED))
    assert await site.at(5 * MINUTE) == 0
    assert await site.runs() == []


async def test_what_may_not_be_run_is_passed_over_and_the_schedule_goes_on(site: Site) -> None:
    await site.add()
    site.kept.runs.refusing.refused["schedule-000001"] = PermissionDenied("alice may not use the filesystem data")
    await site.at(MINUTE)
    assert await site.runs() == [("00:01:00", "skipped")]
    held = (await site.kept.get("schedule-000001")).standing
    assert held.state is ScheduleState.RUNNING
    assert held.message == "the tick of 2022-06-01 00:01:00 UTC got no run: alice may not use the filesystem data"
    site.kept.runs.refusing.refused.clear()
    await site.at(2 * MINUTE)
    assert await site.runs() == [("00:01:00", "skipped"), ("00:02:00", "running")]
    assert (await site.kept.get("schedule-000001")).standing.message == ""
    assert len(await site.events()) == 2


async def test_no_run_is_stopped_for_one_that_may_not_be_made(site: Site) -> None:
    await site.add(concurrency=1, policy=Policy.REPLACE)
    await site.at(MINUTE)
    site.kept.runs.refusing.refused["schedule-000001"] = PermissionDenied("no")
    await site.at(2 * MINUTE)
    assert await site.runs() == [("00:01:00", "running"), ("00:02:00", "skipped")]


async def test_a_schedule_ends_with_its_owner(site: Site) -> None:
    await site.add()
    site.kept.runs.refusing.refused["schedule-000001"] = UserNotFound("there is no user alice")
    await site.at(MINUTE)
    ended = (await site.kept.get("schedule-000001")).standing
    assert (ended.state, ended.message, ended.wake_time) == (ScheduleState.FAILED, "there is no user alice", None)
    assert await site.runs() == []


async def test_a_schedule_whose_zone_is_gone_fails_and_the_others_go_on(site: Site) -> None:
    lost = a_schedule("schedule-000002")
    await site.add()
    await site.add(replace(lost, rule=Rule(crontab="* * * * *", time_zone="Mars/Olympus", start=START)))
    await site.at(MINUTE)
    assert (await site.kept.get("schedule-000002")).standing.state is ScheduleState.FAILED
    assert await site.runs() == [("00:01:00", "running")]


async def test_one_run_that_cannot_be_made_holds_up_no_other(site: Site) -> None:
    for number in range(1, 4):
        await site.add(a_schedule(f"schedule-{number:06d}"))
    site.kept.runs.refusing.broken["schedule-000002"] = FilesystemNotFound("no filesystem 'data'")
    assert await site.at(MINUTE) == 3
    runs = await site.kept.runs.all(site.kept.database.newest)
    assert sorted((run.schedule[-1], run.state, run.why) for run in runs) == [
        ("1", "running", ""),
        ("2", "skipped", "no filesystem 'data'"),
        ("3", "running", ""),
    ]


@pytest.mark.parametrize(
    "problem",
    [Unavailable("away"), Conflict(), DeadlineExceeded("late"), Overloaded("busy"), TokenExpired("ours")],
    ids=lambda problem: type(problem).__name__,
)
async def test_what_may_pass_is_tried_again_and_nothing_is_kept_of_the_try(site: Site, problem: Problem) -> None:
    await site.add()
    site.kept.runs.refusing.broken["schedule-000001"] = problem
    with pytest.raises(type(problem)):
        await site.at(MINUTE)
    assert await site.runs() == []
    site.kept.runs.refusing.broken.clear()
    await site.at(MINUTE + SECOND)
    assert await site.runs() == [("00:01:00", "running")]


async def test_one_schedule_that_nothing_is_known_of_holds_up_no_other(site: Site) -> None:
    for number in range(1, 4):
        await site.add(a_schedule(f"schedule-{number:06d}"))
    site.kept.runs.refusing.unknown["schedule-000002"] = Internal("fault 7")
    assert await site.at(MINUTE) == 3
    runs = await site.kept.runs.all(site.kept.database.newest)
    assert sorted((run.schedule[-1], run.state, run.why) for run in runs) == [
        ("1", "running", ""),
        ("2", "skipped", "fault 7"),
        ("3", "running", ""),
    ]


async def test_a_tick_that_somebody_asked_for_before_gets_no_second_run(site: Site) -> None:
    await site.add()
    async with site.kept.database.change() as change:
        key = TickKey("schedule-000001", START + 2 * MINUTE)
        await site.kept.store.keep_ticks(change, [Tick(key, "run-000777")])
    await site.at(3 * MINUTE)
    assert [tick for tick, _ in await site.runs()] == ["00:01:00", "00:03:00"]


async def test_more_are_settled_than_fit_into_one_change(site: Site) -> None:
    for number in range(TOGETHER * 2 + 1):
        await site.add(a_schedule(f"schedule-{number:06d}"))
    assert await site.at(MINUTE) == TOGETHER * 2 + 1


async def test_all_ticks_of_a_long_time_are_settled(site: Site) -> None:
    await site.add()
    await site.at(250 * MINUTE)
    assert len(await site.runs()) == 250


async def test_it_sleeps_until_the_next_tick_but_not_long(site: Site) -> None:
    assert await site.ticker.patience() == PAUSE
    await site.add()
    assert await site.ticker.patience() == PAUSE
    site.clock.wall += 59.75
    assert await site.ticker.patience() == pytest.approx(0.25)
    site.clock.wall += 10
    assert 0 < await site.ticker.patience() < 0.1
