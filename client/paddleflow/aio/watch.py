"""Watches that go on by themselves when a stream breaks."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing
from typing import Protocol, TypeVar

from grpc import aio

from paddleflow.aio.session import Session
from paddleflow.models.watches import Bookmark, Change, Reset, WatchItem
from paddleflow.problems import Problem, Unavailable
from paddleflow.resumption import Progress, Step, next_step


class WatchRequest(Protocol):
    """Asks for a stream of changes."""

    resume_token: str


class WatchMessage(Protocol):
    """Some changes, and where the stream stands after them."""

    resume_token: str
    bookmark: bool


T = TypeVar("T")
Q = TypeVar("Q", bound=WatchRequest)
M = TypeVar("M", bound=WatchMessage)


async def watch(
    session: Session,
    method: aio.UnaryStreamMultiCallable[Q, M],
    request: Q,
    read: Callable[[M], Iterable[Change[T]]],
) -> AsyncIterator[WatchItem[T]]:
    """What happens, without a gap, over as many streams as it takes.

    Raises the last problem if it is not one that time mends, if the server does not answer from the start, or when it
    stays away longer than the connection's patience.
    """
    progress = Progress.begin(request.resume_token)
    while True:
        request.resume_token = progress.resume_token
        problem: Problem = Unavailable("the server ended the watch")
        try:
            async with aclosing(session.stream(method, request)) as messages:
                async for message in messages:
                    for change in read(message):
                        yield change
                    progress = progress.advanced(message.resume_token, caught_up=message.bookmark)
                    yield Bookmark(message.resume_token, message.bookmark)
        except Problem as raised:
            problem = raised
        now = time.monotonic()
        progress = progress.failed(now)
        step = next_step(problem, can_log_in=session.can_log_in)
        if progress.gives_up(step, now, session.connection.patience):
            raise problem
        if step is Step.START_OVER or (progress.told and not progress.settled):
            progress = progress.restarted()
            yield Reset()
        await asyncio.sleep(max(progress.delay(secrets.SystemRandom().random()), problem.retry_after or 0.0))
