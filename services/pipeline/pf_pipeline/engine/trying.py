"""Tries again what fails for a reason that passes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from paddleflow.problems import (
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    OwnerEpochConflict,
    PermissionDenied,
    Problem,
)

logger = logging.getLogger(__name__)

T = TypeVar("T")

AGAIN_SECONDS = 0.5
"""Before the first other try; each later one waits twice as long."""
LONGEST_SECONDS = 10.0
LASTING = (InvalidArgument, PermissionDenied, NotFound, AlreadyExists, FailedPrecondition)
"""Answers that are about what was asked. Whatever else a service says, it may say otherwise in a moment."""
FAULTS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a fault of the service raises. Met with one run, it is the end of this run, and not of all others."""


async def again(what: str, ask: Callable[[], Awaitable[T]]) -> T:
    """The answer, as soon as there is one. Raises an answer that lasts, and that another one does it by now."""
    pause = AGAIN_SECONDS
    while True:
        try:
            return await ask()
        except (*LASTING, OwnerEpochConflict):
            raise
        except Problem as problem:
            logger.warning("it is tried again to %s", what, extra={"detail": problem.message})
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_SECONDS)
