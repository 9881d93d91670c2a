"""Locks by name, inside one process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from weakref import WeakValueDictionary


class NamedLocks:
    """A lock for each name that somebody holds or waits for."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def hold(self, names: Iterable[str], patience: float) -> AsyncIterator[None]:
        """Holds the locks of all names for the block; TimeoutError if that takes too many seconds."""
        async with AsyncExitStack() as held:
            async with asyncio.timeout(patience):
                # Everybody takes them in the same order, so that no two wait for each other.
                for name in sorted(set(names)):
                    await held.enter_async_context(self._locks.setdefault(name, asyncio.Lock()))
            yield
