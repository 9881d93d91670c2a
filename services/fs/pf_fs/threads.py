"""Threads for what blocks and may hang: servers far away, disks of a network."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from paddleflow.problems import Overloaded, ServerUnusable
from pf_kit.fields import shown

T = TypeVar("T")

THREADS = 32


@dataclass(frozen=True, slots=True)
class Patience:
    """How long things may take, in seconds. Both together are less than a call may last."""

    wait: float = 3.0
    """A call waits so long for a thread before it is sent away."""
    answer: float = 20.0


class Threads:
    """A thread that hangs is left behind, and makes room when it comes back."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._threads = ThreadPoolExecutor(THREADS, "servers")
        self._free = asyncio.Semaphore(THREADS)

    async def run(self, called: str, work: Callable[[], T]) -> T:
        """What the work gives. Raises Overloaded if no thread is free for it, ServerUnusable if it takes too long."""
        working = await self._begun(work)
        try:
            async with asyncio.timeout(self._patience.answer):
                return await working
        except TimeoutError:
            late = f"{shown(called)} did not answer within {self._patience.answer:g} s"
            raise ServerUnusable(f"{late}; is the address right, and the server there?") from None

    async def _begun(self, work: Callable[[], T]) -> asyncio.Future[T]:
        try:
            async with asyncio.timeout(self._patience.wait):
                await self._free.acquire()
        except TimeoutError:
            raise Overloaded("too many servers are being asked; try again", retry_after=1.0) from None
        thread = self._threads.submit(work)
        loop = asyncio.get_running_loop()

        def release(_: object) -> None:
            # Whoever waited, and the service as well, may be gone long before the thread is.
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._free.release)

        thread.add_done_callback(release)
        return asyncio.wrap_future(thread)
