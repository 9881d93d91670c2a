"""Requests that come a second time, because the process that had them first was killed before it answered.

It may have done what was asked, or not. What fails only because it was done the first time has succeeded.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from pf_fuse.operations import Answer

T = TypeVar("T")


def forgiving(operation: Callable[[], Answer[T]], number: int, instead: Callable[[], Answer[T]]) -> Answer[T]:
    """What is answered instead if it fails with this number. It is waited for, which is rare: only after a restart."""
    try:
        answer = operation()
        return answer.result() if isinstance(answer, Future) else answer
    except OSError as failure:
        if failure.errno != number:
            raise
        return instead()


def nothing() -> None:
    """It is done."""
