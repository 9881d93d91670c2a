"""Long work by turns with all else that the process does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

T = TypeVar("T")

TURN = 50
"""Things that are done without a pause: of jobs, some hundredths of a second."""


async def by_turns(things: Iterable[T]) -> AsyncIterator[T]:
    """The same. Now and then others have their turn: whoever has to renew a lease cannot wait for a second."""
    for number, thing in enumerate(things, 1):
        yield thing
        if number % TURN == 0:
            await asyncio.sleep(0)
