"""Requests that come a second time, because the process that had them first was killed before it answered.

It may have done what was asked, or not. What fails only because it was done the first time has succeeded.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from pf_fuse.arriving import once
from pf_fuse.operations import Answer

T = TypeVar("T")


def forgiving(operation: Callable[[], Answer[T]], number: int, instead: Callable[[], Answer[T]]) -> Answer[T]:
    """What is answered instead if it fails with this number."""

    def forgiven(answer: Callable[[], Answer[T]]) -> Answer[T]:
        try:
            return answer()
        except OSError as failure:
            if failure.errno != number:
                raise
            return instead()

    answer = forgiven(operation)
    # The thread that asks is needed by whoever answers.
    return once(answer, lambda: forgiven(answer.result)) if isinstance(answer, Future) else answer


def nothing() -> None:
    """It is done."""
