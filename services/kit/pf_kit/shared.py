"""What several wish to know at about the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Shared(Generic[T]):
    """An answer that is looked for once, for all who ask within a moment."""

    def __init__(self, look: Callable[[], Awaitable[T]], seconds: float) -> None:
        """An answer is good for so many seconds."""
        self._look = look
        self._seconds = seconds
        self._looking = asyncio.Lock()
        self._answer: tuple[float, T] | None = None
        """When it was looked for, and what was found."""

    async def __call__(self) -> T:
        """The answer. Raises what looking for it raises."""
        async with self._looking:
            now = asyncio.get_running_loop().time()
            if self._answer is None or now - self._answer[0] >= self._seconds:
                self._answer = now, await self._look()
            return self._answer[1]
