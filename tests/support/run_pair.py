"""Two instances of the pipeline service over one database, which are killed and stopped."""

from __future__ import annotations

import asyncio
from random import Random

import asyncpg

from support.failpoints import Act
from support.job_lives import Wish
from support.run_chaos import Site
from support.run_failpoints import RunPoint
from support.waiting import eventually

LONGEST = 0.3
"""Seconds until a kill that is not at a failpoint."""
REACHED = 0.5
"""Seconds until an instance comes to a failpoint: what only a leader comes to, the other one does not."""
LEADER = """
    select address from pipeline.leases where name = 'driving' and expires > clock_timestamp()
"""

SURELY = 15.0
"""Seconds until one of them comes to where it must come."""


async def leader(made: Site) -> int | None:
    """Which instance drives runs; None if none does."""
    connection = await asyncpg.connect(made.dsn)
    try:
        address = await connection.fetchval(LEADER)
    finally:
        await connection.close()
    return made.addresses["pipeline"].index(address) if address else None


async def until_led(made: Site, *, by: int | None = None) -> int:
    """Which instance drives runs, once one does: any, or a certain one."""

    async def led() -> tuple[int] | None:
        found = await leader(made)
        return None if found is None or by not in (None, found) else (found,)

    return (await eventually(led, 30.0))[0]


async def kill_at(made: Site, point: RunPoint) -> None:
    """Kills whichever instance comes to a point first. It is started again."""
    for each in made.instances:
        each.wish(Wish(point, Act.DIE, 1))
    coming = [asyncio.create_task(each.reached.get()) for each in made.instances]
    came, others = await asyncio.wait(coming, timeout=SURELY, return_when=asyncio.FIRST_COMPLETED)
    for task in others:
        task.cancel()
    for each in made.instances:
        each.go_on()
    assert came, f"nobody came to {point}: {made.log}"


async def kill_one(made: Site, points: tuple[RunPoint | None, ...], chance: Random) -> None:
    """Kills the leader or the other one, at a point or at any time. It is started again."""
    driving = await leader(made)
    at = chance.randrange(len(made.instances)) if driving is None or chance.random() < 0.3 else driving
    victim, point = made.instances[at], chance.choice(points)
    if point is None:
        await asyncio.sleep(chance.uniform(0, LONGEST))
    else:
        victim.wish(Wish(point, Act.DIE, chance.randint(1, 2)))
        try:
            async with asyncio.timeout(REACHED):
                await victim.reached.get()
        except TimeoutError:
            pass
    victim.kill()
    victim.go_on()
