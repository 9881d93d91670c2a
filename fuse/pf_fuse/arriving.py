"""Answers that have to wait for what somebody else brings: no thread waits with them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from pf_fuse.operations import Answer

T = TypeVar("T")
S = TypeVar("S")


def once(coming: Future[S], work: Callable[[], Answer[T]]) -> Future[T]:
    """What the work answers as soon as something has come, or has failed; done by whoever brings it."""
    answer = Future[T]()
    coming.add_done_callback(lambda _: settle(answer, work))
    return answer


def settle(answer: Future[T], work: Callable[[], Answer[T]]) -> None:
    """Has the answer be that of the work, which may come later."""
    try:
        found = work()
    except BaseException as error:  # noqa: BLE001  # whoever waits for the future is told
        answer.set_exception(error)
        return
    if isinstance(found, Future):
        found.add_done_callback(lambda done: settle(answer, done.result))
    else:
        answer.set_result(found)
