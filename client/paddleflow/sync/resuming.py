# Written by tools/generate_sync.py from paddleflow/aio/resuming.py; change it there.
"""Streams that are begun again when they break."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Generator
from contextlib import closing
from typing import TypeVar

from paddleflow.problems import Problem
from paddleflow.resumption import Progress, next_step
from paddleflow.sync.session import Session

T = TypeVar("T")


def resuming(session: Session, begin: Callable[[], Generator[T, None, None]]) -> Generator[T, None, None]:
    """The messages of a stream up to its end. `begin` begins it behind the last message that was told."""
    progress = Progress.begin("")
    while True:
        try:
            with closing(begin()) as messages:
                for message in messages:
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
        time.sleep(delay)
