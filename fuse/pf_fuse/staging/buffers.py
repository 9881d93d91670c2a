"""Memory for parts that are on their way, used again and again.

To ask the kernel for some each time costs more than to copy what goes into it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class Buffers:
    """As many as are in use at once, and those that were. For any number of threads."""

    def __init__(self) -> None:
        self._idle: list[bytearray] = []
        self._users = 0
        self._lock = Lock()

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
    def borrowed(self, long: int) -> Iterator[memoryview]:
        """So many bytes, which are the same for all."""
        with self._lock:
            buffer = self._idle.pop() if self._idle else None
        if buffer is None:
            buffer = bytearray(long)
        try:
            yield memoryview(buffer)
        finally:
            with self._lock:
                if self._users:
                    self._idle.append(buffer)
