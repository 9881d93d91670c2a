"""Takes together what has come while something else was done."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import TypeVar

from paddleflow.problems import Problem

T = TypeVar("T")

MOST = 1000
"""Taken together at most."""


async def gathered(source: AsyncIterator[Sequence[T]]) -> AsyncIterator[Sequence[T]]:
    """The same in larger parts; an empty part stays by itself, and in its place. Raises what the source raises."""
    waiting: deque[Sequence[T]] = deque()
    come = asyncio.Event()

    async def read() -> None:
        try:
            async for part in source:
                waiting.append(part)
                come.set()
        finally:
            come.set()

    reading = asyncio.create_task(read())
    try:
        while waiting or not reading.done():
            await come.wait()
            come.clear()
            while waiting:
                yield _taken(waiting)
        await reading
    finally:
        reading.cancel()
        with suppress(asyncio.CancelledError, Problem):
            await reading


def _taken(waiting: deque[Sequence[T]]) -> Sequence[T]:
    """The first parts together, up to an empty one."""
    whole = list(waiting.popleft())
    while whole and waiting and waiting[0] and len(whole) < MOST:
        whole += waiting.popleft()
    return whole
