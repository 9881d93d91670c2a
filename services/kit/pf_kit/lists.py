"""Lists, a page at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from google.protobuf.message import Message

from pf_kit.page import PageTokens, list_scope, page_size

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A part of a list."""

    things: Sequence[T]
    next_token: str
    """Empty at the end of the list."""


class Lists:
    """Cuts lists into pages."""

    def __init__(self, *, tokens: PageTokens) -> None:
        self._tokens = tokens

    async def page(
        self,
        request: Message,
        fetch: Callable[[str, int], Awaitable[Sequence[T]]],
        position: Callable[[T], str],
    ) -> Page[T]:
        """The page that a request with `page_size` and `page_token` asks for.

        `fetch` gets the position after which the page begins, empty at first, and a limit.
        """
        scope = list_scope(request)
        size: int = page_size(request.page_size)  # type: ignore[attr-defined]  # the field that every list has
        after: str = self._tokens.decode(request.page_token, scope)  # type: ignore[attr-defined]  # as above
        # One more than asked for tells whether there is another page.
        found = await fetch(after, size + 1)
        end = position(found[size - 1]) if len(found) > size else ""
        return Page(found[:size], self._tokens.encode(end, scope))
