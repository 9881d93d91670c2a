"""Results and problems as the original returned them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from paddleflow.models.pages import Page
from paddleflow.problems import Problem

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")
Answer = tuple[bool, T | str]
ListAnswer = tuple[bool, list[T] | str, str | None]


def answer(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], Answer[T]]:
    """Makes a method return ``(True, result)``, or ``(False, message)`` where it would raise a problem."""

    @wraps(method)
    def answering(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Answer[T]:
        try:
            return True, method(self, *args, **kwargs)
        except Problem as problem:
            return False, problem.message

    return answering


def list_answer(method: Callable[Concatenate[S, P], Page[T]]) -> Callable[Concatenate[S, P], ListAnswer[T]]:
    """The same for a list: ``(True, items, marker)``, or ``(False, message, None)``."""

    @wraps(method)
    def answering(self: S, /, *args: P.args, **kwargs: P.kwargs) -> ListAnswer[T]:
        try:
            page = method(self, *args, **kwargs)
        except Problem as problem:
            return False, problem.message, None
        return True, list(page.items), page.next_token or None

    return answering
