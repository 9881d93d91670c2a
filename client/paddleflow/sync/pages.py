# Written by tools/generate_sync.py from paddleflow/aio/pages.py; change it there.
"""Lists that fetch their pages as they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from paddleflow.models.pages import Page

T = TypeVar("T")

LARGE_PAGE = 500


def every(fetch: Callable[[int, str], Page[T]]) -> Iterator[T]:
    """The items of all pages; the next page is fetched when the last item of one has been taken."""
    page = fetch(LARGE_PAGE, "")
    while True:
        yield from page.items
        if not page.next_token:
            return
        page = fetch(LARGE_PAGE, page.next_token)
