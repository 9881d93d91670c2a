"""Work that ends once it has begun."""

from __future__ import annotations

import asyncio

import pytest

from paddleflow.problems import Unavailable
from pf_queue.admission.finishing import to_the_end


async def test_the_next_begins_only_when_work_is_over_that_nobody_waits_for() -> None:
    lock, let, begun = asyncio.Lock(), asyncio.Event(), []

    async def work(name: str) -> str:
        begun.append(name)
        await let.wait()
        return name

    first = asyncio.create_task(to_the_end(lock, lambda: work("first")))
    second = asyncio.create_task(to_the_end(lock, lambda: work("second")))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    assert (first.cancelled(), begun) == (True, ["first"])
    let.set()
    assert await second == "second"
    assert not lock.locked()


async def test_a_failure_frees_the_lock() -> None:
    lock = asyncio.Lock()

    async def fails() -> None:
        raise Unavailable("it fails")

    with pytest.raises(Unavailable):
        await to_the_end(lock, fails)
    async with asyncio.timeout(10):
        await lock.acquire()
