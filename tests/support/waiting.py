"""Waiting for something to become true, without guessing how long it takes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

Answer = TypeVar("Answer")


async def until(
    holds: Callable[[], bool], patience: float = 30.0, pause: float = 0.005, told: Callable[[], str] = str
) -> None:
    """Returns once it holds; fails after so many seconds, and says what is told of it then."""
    deadline = time.monotonic() + patience
    while True:
        if holds():
            return
        assert time.monotonic() < deadline, f"did not happen within {patience} s. {told()}"
        await asyncio.sleep(pause)


def wait_until(holds: Callable[[], bool], patience: float = 30.0, pause: float = 0.005) -> None:
    """As `until`, where threads do the work."""
    deadline = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < deadline, f"did not happen within {patience} s"
        time.sleep(pause)


async def eventually(ask: Callable[[], Awaitable[Answer | None]], patience: float = 30.0) -> Answer:
    """The first answer that is neither None nor empty nor zero; fails after so many seconds."""
    deadline = time.monotonic() + patience
    while True:
        answer = await ask()
        if answer:
            return answer
        assert time.monotonic() < deadline, f"no answer within {patience} s"
        await asyncio.sleep(0.01)
