"""Does something for ever, and what failed again after a while."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from paddleflow.problems import Problem
from pf_kit.bus.relay import backoff

logger = logging.getLogger(__name__)

LONGEST_BACKOFF = 5.0
"""Seconds until something that failed is tried again."""

Step = Callable[[], Awaitable[int]]
"""Does something, and tells how much."""


class Trying:
    """Something that is done for ever. The more often it fails in a row, the longer it waits."""

    def __init__(self, what: str) -> None:
        """`what` names it in the log."""
        self._what = what
        self._failures = 0

    async def keep_on(self, step: Step, pause: Callable[[], Awaitable[object]]) -> None:
        """Does a step as long as it gets something done, then pauses; what fails is tried again."""
        while True:
            try:
                done = await step()
            except Problem as problem:
                await self._failed(problem)
                continue
            self.went_well()
            if not done:
                await pause()

    def went_well(self) -> None:
        """Forgets failures; for a step that goes well for a long time before it fails."""
        self._failures = 0

    async def _failed(self, problem: Problem) -> None:
        self._failures += 1
        told = {"what": self._what, "why": problem.message, "failures": self._failures}
        logger.warning("a step failed, and is tried again", extra=told)
        await asyncio.sleep(backoff(self._failures, LONGEST_BACKOFF))
