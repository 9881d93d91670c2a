"""Who waits for commits sleeps until there is one, however it came to wait."""

from __future__ import annotations

import asyncio
import time

from pf_kit.wake import Bell


async def waited(bell: Bell, patience: float) -> float:
    begun = time.monotonic()
    await bell.wait(patience)
    return time.monotonic() - begun


async def test_who_never_looked_sleeps_each_time() -> None:
    bell = Bell()
    bell.ring()
    assert [await waited(bell, 0.05) >= 0.045 for _ in range(3)] == [True, True, True]


async def test_a_ring_after_the_look_is_heard_once() -> None:
    bell = Bell()
    bell.looked()
    bell.ring()
    assert await waited(bell, 5.0) < 1.0
    assert await waited(bell, 0.05) >= 0.045


async def test_a_ring_between_two_waits_is_heard() -> None:
    bell = Bell()
    await bell.wait(0.0)
    bell.ring()
    assert await waited(bell, 5.0) < 1.0


async def test_a_ring_wakes_all_who_sleep() -> None:
    bell = Bell()
    sleepers = [asyncio.create_task(waited(bell, 5.0)) for _ in range(3)]
    await asyncio.sleep(0)
    bell.ring()
    assert max(await asyncio.gather(*sleepers)) < 1.0
