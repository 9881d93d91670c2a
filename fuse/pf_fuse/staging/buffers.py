"""Memory for parts that are on their way, used again and again.

To ask the kernel for some each time costs more than to copy what goes into it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock

from pf_fuse.staging.disk import of_disk

_FREELY = 1 << 20
"""Bytes for which nobody waits."""
_AT_ONCE = 8
"""Larger ones that are in use; who wants one more waits."""


class Buffers:
    """As many as are in use at once, and those that were. For any number of threads."""

    def __init__(self) -> None:
        self._idle: list[bytearray] = []
        self._users = 0
        self._lock = Lock()
        self._room = BoundedSemaphore(_AT_ONCE)

    def begin(self) -> None:
        """Somebody will borrow some."""
        with self._lock:
            self._users += 1

    def end(self) -> None:
        """Somebody borrows none any more; when nobody does, nothing is kept."""
        with self._lock:
            self._users -= 1
            if not self._users:
                self._idle.clear()

    @contextmanager
    def used(self) -> Iterator[None]:
        """The block borrows some, and keeps them for the next ones."""
        self.begin()
        try:
            yield
        finally:
            self.end()

    @contextmanager
    def filled(self, descriptor: int, start: int, long: int) -> Iterator[memoryview]:
        """So many bytes of a file, copied.

        Memory that is mapped does not survive that the file is cut off meanwhile, or that its disk is full or fails:
        the process is killed.
        """
        with self._borrowed(long) as data:
            with of_disk():
                if os.preadv(descriptor, [data], start) < long:
                    raise OSError(errno.EIO, "the file was cut off while it was sent")
            yield data

    @contextmanager
    def _borrowed(self, long: int) -> Iterator[memoryview]:
        if long <= _FREELY:
            yield memoryview(bytearray(long))
            return
        with self._room:
            buffer = self._taken(long) or bytearray(long)
            try:
                yield memoryview(buffer)[:long]
            finally:
                with self._lock:
                    if self._users:
                        self._idle.append(buffer)

    def _taken(self, long: int) -> bytearray | None:
        """One that was used before; what is too short is not kept."""
        with self._lock:
            buffer = self._idle.pop() if self._idle else None
        return buffer if buffer and len(buffer) >= long else None
