"""Pages of listings that were read before.

Whoever asks again and again what is in a folder is mostly told the same, to the letter. To see that takes a hundredth
of what it takes to read it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from threading import Lock

from pf_backends.entries import Page

MOST = 20_000
"""Things in all pages that are remembered, about 400 bytes each, and pages: some have nothing in them."""


class Remembered:
    """Pages by what the store said. For many threads."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._pages: OrderedDict[bytes, Page] = OrderedDict()
        self._count = 0
        self._lock = Lock()

    def page(self, said: bytes, read: Callable[[bytes], Page]) -> Page:
        """What was said, as it is read."""
        digest = blake2b(said, digest_size=16).digest()
        with self._lock:
            if known := self._pages.get(digest):
                self._pages.move_to_end(digest)
                return known
        page = read(said)
        with self._lock:
            self._keep(digest, page)
        return page

    def _keep(self, digest: bytes, page: Page) -> None:
        if digest in self._pages or len(page.entries) > self._most:
            return
        self._pages[digest] = page
        self._count += len(page.entries)
        while max(self._count, len(self._pages)) > self._most:
            _, oldest = self._pages.popitem(last=False)
            self._count -= len(oldest.entries)
