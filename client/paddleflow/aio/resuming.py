"""Streams that are begun again when they break."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TypeVar

from paddleflow.aio.session import Session
from paddleflow.problems import Problem
from paddleflow.resumption import Progress, next_step

T = TypeVar("T")


async def resuming(session: Session, begin: Callable[[], AsyncGenerator[T, None]]) -> AsyncGenerator[T, None]:
    """The messages of a stream up to its end. `begin` begins it behind the last message that was told."""
    progress = Progress.begin("")
    while True:
        try:
            async with aclosing(begin()) as messages:
                async for message in messages:
                    progress = progress.advanced("", caught_up=True)
                    yield message
            return
        except Problem as problem:
            now = time.monotonic()
            progress = progress.failed(now)
            step = next_step(problem, can_log_in=session.can_log_in)
            if progress.gives_up(step, now, session.connection.patience):
                raise
            delay = max(progress.delay(secrets.SystemRandom().random()), problem.retry_after or 0.0)
        await asyncio.sleep(delay)
