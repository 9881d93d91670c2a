"""Each tick gets exactly one run, whoever else lets schedules run and whatever stops meanwhile."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from datetime import UTC, datetime, timedelta

from pf_kit.clock import SystemClock
from support.schedules import Kept, a_schedule, kept_in_postgres, placed
from support.servers import PostgresServer
from support.waiting import eventually

SECOND = timedelta(seconds=1)


async def test_two_instances_and_restarts_make_one_run_for_each_tick(postgres_server: PostgresServer) -> None:
    chance = random.Random(6)
    async with kept_in_postgres(postgres_server) as kept:
        start = datetime.now(UTC).replace(microsecond=0)
        for number in range(40):
            schedule = a_schedule(f"schedule-{number:06d}", crontab="@every 1s", start=start, end=start + 6 * SECOND)
            await kept.add(placed(schedule, next_time=start + SECOND, wake_time=start + SECOND))
        killing = [asyncio.create_task(killed_and_started(kept, chance)) for _ in range(2)]
        try:
            await eventually(lambda: all_over(kept), patience=30)
        finally:
            for task in killing:
                task.cancel()
            await asyncio.wait(killing)
        runs = Counter((run.schedule, run.tick) for run in await kept.runs.all(kept.database.newest))
        assert set(runs.values()) == {1}
        assert len(runs) == 40 * 6
        assert {tick for _, tick in runs} == {start + number * SECOND for number in range(1, 7)}


async def killed_and_started(kept: Kept, chance: random.Random) -> None:
    """An instance that is killed again and again, wherever it stands."""
    while True:
        running = asyncio.create_task(kept.ticker(SystemClock()).run())
        try:
            await asyncio.wait([running], timeout=chance.uniform(0.005, 0.5))
        finally:
            running.cancel()
            await asyncio.wait([running])


async def all_over(kept: Kept) -> bool:
    return await kept.store.next_wake(kept.database.newest) is None
