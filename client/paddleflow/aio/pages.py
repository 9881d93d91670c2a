"""Lists that fetch their pages as they are read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from paddleflow.models.pages import Page

T = TypeVar("T")

LARGE_PAGE = 500


async def every(fetch: Callable[[int, str], Awaitable[Page[T]]]) -> AsyncIterator[T]:
    """The items of all pages; the next page is fetched when the last item of one has been taken."""
    page = await fetch(LARGE_PAGE, "")
    while True:
        for item in page.items:
            yield item
        if not page.next_token:
            return
        page = await fetch(LARGE_PAGE, page.next_token)
