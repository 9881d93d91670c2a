# Written by tools/generate_sync.py from paddleflow/aio/watch.py; change it there.
"""Watches that go on by themselves when a stream breaks."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import Protocol, TypeVar

import grpc

from paddleflow.models.watches import Bookmark, Change, Reset, WatchItem
from paddleflow.problems import Problem, Unavailable
from paddleflow.resumption import Progress, Step, next_step
from paddleflow.sync.session import Session


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


def watch(
    session: Session,
    method: grpc.UnaryStreamMultiCallable[Q, M],
    request: Q,
    read: Callable[[M], Iterable[Change[T]]],
) -> Iterator[WatchItem[T]]:
    """What happens, without a gap, over as many streams as it takes.

    Raises the last problem if it is not one that time mends, if the server does not answer from the start, or when it
    stays away longer than the connection's patience.
    """
    progress = Progress.begin(request.resume_token)
    while True:
        request.resume_token = progress.resume_token
        problem: Problem = Unavailable("the server ended the watch")
        try:
            with closing(session.stream(method, request)) as messages:
                for message in messages:
                    yield from read(message)
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
        time.sleep(max(progress.delay(secrets.SystemRandom().random()), problem.retry_after or 0.0))
