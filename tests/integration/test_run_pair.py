"""Two instances of the pipeline service that are killed, and their Valkey: nothing is lost, and nothing is doubled."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from support.receivers import receiving
from support.run_chaos import Site, site
from support.run_failpoints import BESIDE, RunPoint
from support.run_listeners import Pager, RunWatcher, committed
from support.run_pair import kill_at, kill_one
from support.run_telling import Telling
from support.run_ticks import Ticks
from support.servers import PostgresServer, ValkeyServer
from support.waiting import eventually

POINTS = (*sorted(BESIDE - {RunPoint.OWNED}), RunPoint.BEGUN, RunPoint.WRITTEN, RunPoint.COMMITTED, None)
SURELY = (RunPoint.TICK, RunPoint.TICKED, RunPoint.TELL, RunPoint.TOLD, RunPoint.SETTLED)
"""Points at which somebody dies in any case."""
WEBHOOKS = {"PF_PIPELINE_NOTICES_WEBHOOKS": "127.0.0.1"}
PATIENCE = 60.0
"""Seconds in which all is over when nobody is killed any more."""


@pytest.mark.timeout(180)
async def test_two_instances_that_are_killed_lose_and_double_nothing(
    postgres_server: PostgresServer, own_valkey: ValkeyServer
) -> None:
    await endure(postgres_server, own_valkey, schedules=200, seconds=2, kills=4, chance=Random(1))


@pytest.mark.crash
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_a_thousand_schedules_get_one_run_for_each_tick_and_all_is_told(
    postgres_server: PostgresServer, own_valkey: ValkeyServer, seed: int
) -> None:
    await endure(postgres_server, own_valkey, schedules=1000, seconds=5, kills=60, chance=Random(seed))


async def endure(
    postgres: PostgresServer, valkey: ValkeyServer, *, schedules: int, seconds: int, kills: int, chance: Random
) -> None:
    """Kills as long as there are ticks to come, and at least so often; in the end all has been told to everybody."""
    async with receiving() as receiver, site(postgres, valkey, instances=2, settings=WEBHOOKS) as made:
        # Each takes some 10 ms to be added.
        start = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=3 + schedules // 50)
        ticks, telling = Ticks(made, schedules, seconds, start), Telling(made, receiver)
        async with listening(made) as (watcher, pager):
            await ticks.add()
            await asyncio.sleep((start - datetime.now(UTC)).total_seconds())
            struck = await strike(made, ticks, telling, valkey, kills, chance)
            found = await eventually(ticks.found, PATIENCE)
            await eventually(telling.is_told, PATIENCE)
            expected = await committed(made)
            await eventually(lambda: has_heard(watcher, len(expected)), PATIENCE)
        wrong = [*ticks.wrongs(found), *await telling.wrongs(), *pager.wrong]
        assert not wrong, "\n".join([*wrong[:50], made.log])
        assert watcher.told == expected
        assert watcher.breaks
        assert pager.rounds > 1
        ended = f"{len(found)} runs of {schedules} schedules, {len(telling.followers)} ends told, {pager.rounds} lists"
        sys.stderr.write(f"{ended}, {len(expected)} changes over {watcher.breaks} breaks, {struck} kills\n")


@asynccontextmanager
async def listening(made: Site) -> AsyncIterator[tuple[RunWatcher, Pager]]:
    """Somebody who watches all runs from the first on, and somebody who lists them, as long as the block lasts."""
    watcher, pager = RunWatcher(made), Pager(made)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(watcher.run())]
        await watcher.caught_up.wait()
        tasks.append(group.create_task(pager.run()))
        yield watcher, pager
        for task in tasks:
            task.cancel()


async def strike(made: Site, ticks: Ticks, telling: Telling, valkey: ValkeyServer, kills: int, chance: Random) -> int:
    """Kills one after the other, and once their Valkey, while runs are made whose ends are told."""
    stop, struck = asyncio.Event(), 0
    async with asyncio.TaskGroup() as group:
        group.create_task(telling.run(stop, 0.3))
        for point in SURELY:
            await kill_at(made, point)
        while struck < kills or await ticks.go_on():
            await kill_one(made, POINTS, chance)
            struck += 1
            if struck == kills // 2:
                valkey.kill()
                await asyncio.to_thread(valkey.start)
        stop.set()
    return struck + len(SURELY)


async def has_heard(watcher: RunWatcher, count: int) -> bool:
    return len(watcher.told) >= count
