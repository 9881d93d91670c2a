"""What was written and uploaded is handed to the cache when nobody writes to it any more, and not fetched again."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Protocol

from pf_fuse.pages.keys import Key
from pf_fuse.staging.staged import Staged, discard

_AT_ONCE = 1 << 20
"""Bytes of a file that is handed over while others wait: it takes as long as to remove it."""


class Adopts(Protocol):
    """What is needed of a cache."""

    def adopt(self, key: Key, source: str, descriptor: int) -> bool:
        """Keeps a file to which nobody writes any more, also when its other name goes; false if it does not."""

    def tidy(self) -> bool:
        """Makes room if there is too little."""


class Handing:
    """Ends staged files."""

    def __init__(self, cache: Adopts, address: str, workers: Executor) -> None:
        """`address`: that of the backend."""
        self._cache = cache
        self._address = address
        self._workers = workers

    def end(self, staged: Staged) -> None:
        """It is needed no more where it was written."""
        uploaded = staged.uploaded
        if uploaded is None or staged.dirty or not uploaded.version or not 0 < uploaded.size == staged.size:
            discard(staged)
        elif uploaded.size <= _AT_ONCE:
            self._hand_over(staged, Key(self._address, uploaded.path, uploaded.version))
        else:
            self._workers.submit(self._hand_over, staged, Key(self._address, uploaded.path, uploaded.version))

    def _hand_over(self, staged: Staged, key: Key) -> None:
        try:
            if not self._cache.adopt(key, str(staged.file), staged.descriptor):
                self._workers.submit(self._cache.tidy)
        finally:
            discard(staged)
