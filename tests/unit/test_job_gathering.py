"""Parts that come while others are dealt with are taken together, in order, and none is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.problems import Unavailable
from pf_job.driving.gathering import MOST, gathered

EMPTY = -1
PARTS = st.lists(st.lists(st.integers(0), max_size=4), max_size=12)


async def told(parts: Sequence[Sequence[int]], *, pause: bool = False) -> AsyncIterator[Sequence[int]]:
    for part in parts:
        yield part
        if pause:
            await asyncio.sleep(0)
    raise Unavailable("the end")


async def all_of(source: AsyncIterator[Sequence[int]]) -> list[Sequence[int]]:
    found: list[Sequence[int]] = []

    async def listen() -> None:
        async for part in gathered(source):
            found.append(part)
            await asyncio.sleep(0)

    with pytest.raises(Unavailable):
        await listen()
    return found


@given(parts=PARTS, pause=st.booleans())
def test_nothing_is_lost_and_empty_parts_stay_where_they_are(parts: list[list[int]], pause: bool) -> None:
    found = asyncio.run(all_of(told(parts, pause=pause)))
    assert [item for part in found for item in part or [EMPTY]] == [item for part in parts for item in part or [EMPTY]]


def test_what_waits_is_taken_together_up_to_a_limit() -> None:
    found = asyncio.run(all_of(told([[1]] * (2 * MOST + 5))))
    assert [len(part) for part in found] == [MOST, MOST, 5]


async def test_whoever_stops_listening_stops_the_source() -> None:
    closed = asyncio.Event()

    async def endless() -> AsyncIterator[Sequence[int]]:
        try:
            while True:
                yield [1]
                await asyncio.sleep(0)
        finally:
            closed.set()

    listening = gathered(endless())
    assert await anext(listening)
    await listening.aclose()  # type: ignore[attr-defined]  # it is a generator
    async with asyncio.timeout(5):
        await closed.wait()
