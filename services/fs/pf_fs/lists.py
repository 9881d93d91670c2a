"""Lists, a page at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from paddleflow.fs.v1 import fs_pb2
from pf_kit.page import PageTokens, list_scope, page_size

T = TypeVar("T")
ListRequest = fs_pb2.ListFilesystemsRequest | fs_pb2.ListFilesystemGrantsRequest


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
        request: ListRequest,
        fetch: Callable[[str, int], Awaitable[Sequence[T]]],
        position: Callable[[T], str],
    ) -> Page[T]:
        """The page that a request asks for. `fetch` gets the position after which it begins, empty at first."""
        scope, size = list_scope(request), page_size(request.page_size)
        # One more than asked for tells whether there is another page.
        found = await fetch(self._tokens.decode(request.page_token, scope), size + 1)
        end = position(found[size - 1]) if len(found) > size else ""
        return Page(found[:size], self._tokens.encode(end, scope))
