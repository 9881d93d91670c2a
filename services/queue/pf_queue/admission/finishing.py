"""Work of which one is done at a time, and that ends once it has begun."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def to_the_end(lock: asyncio.Lock, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Does work that holds a lock until it is over, also if whoever asked goes away: no thread can be stopped."""
    await lock.acquire()
    begun = asyncio.create_task(work())
    begun.add_done_callback(lambda _: lock.release())
    return await asyncio.shield(begun)
