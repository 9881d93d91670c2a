"""Answers that have to wait for what somebody else brings: no thread waits with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from threading import Lock
from typing import Any, TypeVar

from pf_fuse.operations import Answer

T = TypeVar("T")
S = TypeVar("S")


class Arriving(Future[T]):
    """What may be asked for in another way where it would fail. What comes passes nobody on its way."""

    def __init__(self) -> None:
        super().__init__()
        self._guard = Lock()
        self._failed = False
        self._otherwise: Callable[[OSError], Answer[T]] | None = None

    def otherwise(self, work: Callable[[OSError], Answer[T]]) -> bool:
        """Has it be what the work answers if it fails; False if it has, or somebody else has said what then."""
        with self._guard:
            if self._failed or self._otherwise:
                return False
            self._otherwise = work
            return True

    def set_exception(self, exception: BaseException | None) -> None:
        with self._guard:
            work, self._otherwise, self._failed = self._otherwise, None, True
        if work and isinstance(exception, OSError):
            settle(self, partial(work, exception))
        else:
            super().set_exception(exception)


def once(coming: Future[S], work: Callable[[], Answer[T]]) -> Future[T]:
    """What the work answers as soon as something has come, or has failed; done by whoever brings it."""
    answer = Future[T]()
    coming.add_done_callback(lambda _: settle(answer, work))
    return answer


def after_all(coming: Sequence[Future[Any]], work: Callable[[], Answer[T]]) -> Future[T]:
    """What the work answers as soon as all has come, or has failed; done by whoever brings the last."""
    answer, missing, guard = Future[T](), set(coming), Lock()
    if not missing:
        settle(answer, work)

    def came(one: Future[Any]) -> None:
        with guard:
            missing.discard(one)
            last = not missing
        if last:
            settle(answer, work)

    for each in coming:
        each.add_done_callback(came)
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


def unless_failed(coming: Future[T], work: Callable[[OSError], Answer[T]]) -> Future[T]:
    """What comes, or what the work answers to how it has failed; done by whoever brings it."""
    if isinstance(coming, Arriving) and coming.otherwise(work):
        return coming

    def came() -> Answer[T]:
        error = coming.exception()
        return work(error) if isinstance(error, OSError) else coming.result()

    return once(coming, came)
