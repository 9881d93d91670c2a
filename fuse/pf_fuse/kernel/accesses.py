"""A log of all requests, written as long as somebody wants it. While it is off it costs one comparison for each."""

from __future__ import annotations

import os
import threading
import time

from pf_fuse.kernel.describing import describe_end

LARGEST = 256 << 20
"""Bytes after which it ends by itself: it is easily forgotten."""


class Accesses:
    """Lines of time, request, result and duration."""

    def __init__(self) -> None:
        self.on = False
        self._file = -1
        self._written = 0
        self._lock = threading.Lock()

    def begin(self, path: str) -> None:
        """Also onto the end of a file that is there."""
        self.end()
        with self._lock:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            self._written = 0
            self.on = True

    def end(self) -> None:
        with self._lock:
            self._close()

    def note(self, words: str, error: int, took: int) -> None:
        now = time.time_ns()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now // 10**9))
        line = f"{stamp}.{now // 1000 % 10**6:06d}Z {words}: {describe_end(error, took)}\n".encode()
        with self._lock:
            if not self.on:
                return
            try:
                self._written += os.write(self._file, line)
            except OSError:
                self._close()
            if self._written > LARGEST:
                self._close()

    def _close(self) -> None:
        self.on = False
        if self._file >= 0:
            os.close(self._file)
        self._file = -1
