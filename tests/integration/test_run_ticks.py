"""Schedules of two real instances that are killed again and again: each tick gets one run, and none gets two."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import product
from random import Random

import pytest

from paddleflow.pipeline.v1 import pipeline_pb2, run_pb2, schedule_pb2
from support.run_chaos import Site, site
from support.run_failpoints import RunPoint
from support.run_pair import kill_one
from support.servers import PostgresServer, ValkeyServer
from support.waiting import eventually

DOCUMENT = 'name: tick\ndocker_env: img\nentry_points: {never: {command: x, condition: "1 == 2"}}\n'
"""A run of it is over at once, without a job."""
POINTS = (RunPoint.TICK, RunPoint.TICKED, RunPoint.BEGUN, RunPoint.WRITTEN, RunPoint.COMMITTED, None)
SECOND = timedelta(seconds=1)
AT_ONCE = 8
"""Calls that make schedules."""
LARGEST_PAGE = 1000
OVER = [run_pb2.RUN_STATE_SUCCEEDED]


async def test_two_instances_that_are_killed_make_one_run_for_each_tick(
    postgres_server: PostgresServer, valkey_server: ValkeyServer
) -> None:
    await each_tick_once(postgres_server, valkey_server, schedules=200, ticks=2, chance=Random(1), ahead=4)


@pytest.mark.crash
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_a_thousand_schedules_get_one_run_for_each_tick(
    postgres_server: PostgresServer, valkey_server: ValkeyServer, seed: int
) -> None:
    await each_tick_once(postgres_server, valkey_server, schedules=1000, ticks=5, chance=Random(seed), ahead=30)


async def each_tick_once(
    postgres: PostgresServer, valkey: ValkeyServer, *, schedules: int, ticks: int, chance: Random, ahead: int
) -> None:
    """Kills as long as there are ticks to come, and a little longer."""
    async with site(postgres, valkey, instances=2) as made:
        source = pipeline_pb2.Source(document=DOCUMENT)
        pipeline = (await made.call(pipeline_pb2.CreatePipelineRequest(source=source))).pipeline
        start = datetime.now(UTC).replace(microsecond=0) + ahead * SECOND
        ids = await scheduled(made, pipeline.id, schedules, start, start + ticks * SECOND)
        assert datetime.now(UTC) < start, "the machine is so slow that this tests nothing"
        kills, numbers = 0, range(1, ticks + 1)
        await asyncio.sleep((start - datetime.now(UTC)).total_seconds() - 0.2)
        while await unsettled(made):
            await kill_one(made, POINTS, chance)
            kills += 1
        made_for = await eventually(lambda: all_over(made), 60.0)
        assert set(made_for.values()) == {1}, [tick for tick, count in made_for.items() if count > 1]
        assert set(made_for) == {(id_, start + number * SECOND) for id_, number in product(ids, numbers)}
        assert kills > ticks
        sys.stderr.write(f"{schedules} schedules of {ticks} ticks: {len(made_for)} runs, {kills} kills\n")


async def scheduled(made: Site, pipeline: str, count: int, start: datetime, end: datetime) -> set[str]:
    """Schedules of each second from one time to another; their ids."""
    places = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> str:
        draft = schedule_pb2.Schedule(name=f"tick_{number}", pipeline_id=pipeline, crontab="@every 1s")
        draft.start_time.FromDatetime(start)
        draft.end_time.FromDatetime(end)
        request = schedule_pb2.CreateScheduleRequest(schedule=draft, request_id=f"tick-{number}")
        async with places:
            return str((await made.call(request)).schedule.id)

    return set(await asyncio.gather(*map(one, range(count))))


async def unsettled(made: Site) -> bool:
    request = schedule_pb2.ListSchedulesRequest(states=[schedule_pb2.SCHEDULE_STATE_RUNNING], page_size=1)
    return bool((await made.call(request)).schedules)


async def all_over(made: Site) -> Mapping[tuple[str, datetime], int] | None:
    """How many runs each tick has, once all are over."""
    found: Counter[tuple[str, datetime]] = Counter()
    request = run_pb2.ListRunsRequest(page_size=LARGEST_PAGE)
    while True:
        page = await made.call(request)
        if any(run.state not in OVER for run in page.runs):
            return None
        found.update((run.schedule_id, run.scheduled_time.ToDatetime(UTC)) for run in page.runs)
        request.page_token = page.next_page_token
        if not request.page_token:
            return found
