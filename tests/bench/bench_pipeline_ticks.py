"""Many schedules that are due in the same minute, and once more while the service is killed."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import asyncpg

from bench.bench_pipeline_site import PAGE, Site
from bench.pipeline_documents import chain
from bench.sizes import goal, sized
from paddleflow.pipeline.v1 import pipeline_pb2, run_pb2, schedule_pb2
from support.figures import Figure, percentile

SCHEDULES = 1000
AT_ONCE = 16
"""Calls."""
MINUTE = timedelta(minutes=1)
AHEAD = timedelta(seconds=30)
"""Before the first tick, so that all schedules are there."""
PATIENCE = 50.0
"""Seconds after a tick; the next one comes later."""


async def ticks(stack: Site) -> list[Figure]:
    """Many schedules that are due in the same minute."""
    count = sized(SCHEDULES)
    first = (datetime.now(UTC) + AHEAD + MINUTE).replace(second=0, microsecond=0)
    await _schedules(stack, count, first)
    assert datetime.now(UTC) < first, "the schedules came too late"
    async with stack.database() as rows:
        late = [seconds async for seconds, _ in _seen(rows, first, count)]
        late_after_kill = []
        async for seconds, before in _seen(rows, first + MINUTE, count):
            if not before:
                stack.process.kill()
                stack.process.start()
            late_after_kill.append(seconds)
    return [*_told(count, late, late_after_kill), *await _counted(stack, count, [first, first + MINUTE])]


def _told(count: int, late: list[float], late_after_kill: list[float]) -> list[Figure]:
    who = f"{count:,} schedules due in one minute"
    return [
        Figure(f"{who}: rows of runs come late, p50", percentile(late, 0.5), "s"),
        Figure(f"{who}: rows of runs come late, p99", percentile(late, 0.99), "s", at_most=goal(1.0)),
        Figure(f"{who}: the last one, with a kill -9 after the first", max(late_after_kill), "s"),
    ]


async def _schedules(stack: Site, count: int, first: datetime) -> None:
    source = pipeline_pb2.Source(document=chain(1))
    made = await stack.site.root(
        pipeline_pb2.CreatePipelineRequest(pipeline=pipeline_pb2.Pipeline(name="ticking"), source=source)
    )
    places = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> None:
        schedule = schedule_pb2.Schedule(name=f"each_{number}", pipeline_id=made.pipeline.id, crontab="* * * * *")
        schedule.start_time.FromDatetime(first - timedelta(seconds=1))
        schedule.end_time.FromDatetime(first + MINUTE + timedelta(seconds=1))
        async with places:
            await stack.site.root(schedule_pb2.CreateScheduleRequest(schedule=schedule))

    await asyncio.gather(*(one(number) for number in range(count)))


async def _seen(rows: asyncpg.Connection, tick: datetime, count: int) -> AsyncIterator[tuple[float, int]]:
    """How late each row of a run is there for others, and how many were before it, as soon as that is seen."""
    seen = 0
    while seen < count:
        there = await rows.fetchval(
            "select count(*) from schedule_ticks join runs on runs.id = schedule_ticks.run where time = $1", tick
        )
        late = time.time() - tick.timestamp()
        assert late < PATIENCE, f"{there} of {count} runs {late:g} s after {tick}"
        for number in range(seen, there):
            yield late, number
        seen = there
        await asyncio.sleep(0.01)


async def _counted(stack: Site, count: int, wanted: list[datetime]) -> list[Figure]:
    """What became of all ticks, as everybody can see it."""
    found: Counter[tuple[str, datetime]] = Counter()
    token = ""
    while True:
        reply = await stack.site.root(run_pb2.ListRunsRequest(page_size=PAGE, page_token=token))
        found.update((run.schedule_id, run.scheduled_time.ToDatetime(UTC)) for run in reply.runs)
        if not (token := reply.next_page_token):
            break
    assert {tick for _, tick in found} == set(wanted)
    return [
        Figure("of these ticks, lost", count * len(wanted) - len(found), "", at_most=0.0),
        Figure("of these ticks, with two runs", found.total() - len(found), "", at_most=0.0),
    ]
