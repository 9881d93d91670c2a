"""Writing a file that appears when it is whole: its parts are sent while the program still writes."""

from __future__ import annotations

import mmap
import tempfile
from collections import deque
from concurrent.futures import Executor, Future
from contextlib import suppress
from typing import IO

from pf_backends.entries import Condition, Entry, Part, Parts, Upload
from pf_backends.port import ANYTHING, Backend

_PART = 8 << 20
"""Bytes of a part, and of a file that is sent in one piece."""
_UNDER_WAY = 8
"""Parts: whoever writes faster than they are sent waits."""
_GROWS = 1000
"""Parts after which they are twice as large, so that there are never too many."""


class NewFile:
    """A file that is written from its beginning to its end, by one thread."""

    def __init__(self, backend: Backend, path: str, senders: Executor) -> None:
        self._backend = backend
        self._path = path
        self._senders = senders
        self._parts = backend.capabilities.parts
        # It is open as long as the file is written.
        self._beside: IO[bytes] | None = None if self._parts else tempfile.TemporaryFile()  # noqa: SIM115
        """Where it is kept for a backend that takes files only as a whole."""
        self._pending = bytearray()
        self._upload: Upload | None = None
        self._sent: list[Part] = []
        self._sending: deque[Future[Part]] = deque()
        self._begun = 0

    def write(self, data: memoryview | bytes) -> None:
        if self._beside:
            self._beside.write(data)
            return
        self._pending += data
        while self._parts and len(self._pending) >= (size := self._part_size(self._parts)):
            self._send(bytes(memoryview(self._pending)[:size]))
            del self._pending[:size]

    def commit(self, condition: Condition = ANYTHING) -> Entry:
        """Now it is there."""
        try:
            return self._commit(condition)
        except BaseException:
            self.discard()
            raise

    def discard(self) -> None:
        """It never was."""
        for each in self._sending:
            each.cancel()
        self._sending.clear()
        self._pending = bytearray()
        if self._beside:
            self._beside.close()
        upload, self._upload = self._upload, None
        if upload:
            with suppress(OSError):
                self._backend.drop(upload)

    def _commit(self, condition: Condition) -> Entry:
        if self._beside:
            with self._beside:
                return self._backend.put(self._path, _content(self._beside), condition=condition)
        if self._upload is None:
            return self._backend.put(self._path, bytes(self._pending), condition=condition)
        if self._pending:
            self._send(bytes(self._pending))
        while self._sending:
            self._sent.append(self._sending.popleft().result())
        entry = self._backend.finish(self._upload, self._sent, condition=condition)
        self._upload, self._pending = None, bytearray()
        return entry

    def _send(self, body: bytes) -> None:
        if self._upload is None:
            self._upload = self._backend.begin(self._path)
        self._begun += 1
        self._sending.append(self._senders.submit(self._backend.send, self._upload, self._begun, body))
        if len(self._sending) > _UNDER_WAY:
            self._sent.append(self._sending.popleft().result())

    def _part_size(self, parts: Parts) -> int:
        """A place that wants parts of one size gets them."""
        if parts.least == parts.most:
            return parts.least
        return min(max(parts.least, _PART << (self._begun // _GROWS)), parts.most)


def _content(file: IO[bytes]) -> memoryview | bytes:
    file.flush()
    size = file.tell()
    return memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)) if size else b""
