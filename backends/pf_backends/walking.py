"""All that lies below a folder, however much that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pf_backends.entries import Entry
from pf_backends.port import Backend


def pages_below(backend: Backend, folder: str, *, limit: int = 1000) -> Iterator[Sequence[Entry]]:
    """Page by page, each asked for when the one before was looked at; in memory there is one at a time. Blocks."""
    rest = ""
    while True:
        page = backend.walk(folder, rest=rest, limit=limit)
        yield page.entries
        rest = page.rest
        if not rest:
            return
