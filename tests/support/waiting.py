"""Waiting for something to become true, without guessing how long it takes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable


async def until(holds: Callable[[], bool], patience: float = 10.0, pause: float = 0.005) -> None:
    """Returns once it holds; fails after so many seconds."""
    deadline = time.monotonic() + patience
    while True:
        if holds():
            return
        assert time.monotonic() < deadline, f"did not happen within {patience} s"
        await asyncio.sleep(pause)
