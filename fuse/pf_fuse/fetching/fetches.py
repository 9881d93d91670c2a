"""Requests to the backend, and who waits for them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import InvalidStateError
from typing import TYPE_CHECKING

from pf_backends.entries import Entry
from pf_fuse.arriving import Arriving
from pf_fuse.operations import Bytes
from pf_fuse.pages.keys import PAGE, Extent

if TYPE_CHECKING:
    from pf_fuse.fetching.reading import Reading


class Wait:
    """A read of which not all bytes are here."""

    __slots__ = ("_buffer", "_taking", "answer", "end", "lacks", "path", "start", "until")

    def __init__(self, path: str, start: int, end: int, until: float) -> None:
        self.path, self.start, self.end, self.until = path, start, end, until
        self.answer: Arriving[Bytes] | None = Arriving()
        """None when it was given: who looks at memory is to be the only one to hold it."""
        self.lacks: set[Fetch] = set()
        self._buffer: bytearray | None = None
        self._taking = threading.Lock()

    def take(self, begin: int, data: Bytes) -> None:
        """Bytes of the file from an offset on, as far as they are wanted."""
        start, end = max(self.start, begin), min(self.end, begin + len(data))
        if self._buffer is None:
            self._buffer = bytearray(self.end - self.start)
        self._buffer[start - self.start : end - self.start] = memoryview(data)[start - begin : end - begin]

    def arrived(self, fetch: Fetch, view: memoryview) -> None:
        """What was fetched is in memory. Called once for each fetch, by different threads."""
        if fetch.extent.start <= self.start and self.end <= fetch.extent.end:
            begin = fetch.extent.start
            part = view[self.start - begin : self.end - begin]
            self._settle(lambda answer: answer.set_result(part))
            return
        # Two that arrive at once would make a buffer each, and what is in one of them would be lost.
        with self._taking:
            self.take(fetch.extent.start, view)
            self.lacks.discard(fetch)
            last, whole = not self.lacks, self.bytes
        if last:
            self._settle(lambda answer: answer.set_result(whole))

    def failed(self, error: BaseException) -> None:
        self._settle(lambda answer: answer.set_exception(error))

    @property
    def bytes(self) -> Bytes:
        """All that was taken."""
        return self._buffer or b""

    @property
    def over(self) -> bool:
        """Nobody waits any more."""
        return self.answer is None or self.answer.done()

    def _settle(self, settle: Callable[[Arriving[Bytes]], None]) -> None:
        answer, self.answer, self._buffer = self.answer, None, None
        # It may have been cancelled, or be too late.
        if answer:
            with contextlib.suppress(InvalidStateError):
                settle(answer)


class Fetch:
    """A request to the backend for some pages of a file."""

    __slots__ = ("ended", "error", "extent", "found", "reading", "started", "waits", "whole")

    def __init__(self, reading: Reading, extent: Extent, *, whole: bool) -> None:
        self.reading, self.extent, self.whole = reading, extent, whole
        self.waits: list[Wait] = []
        self.error: OSError | None = None
        """Why it failed."""
        self.found: Entry | None = None
        """What lay there when it was fetched, of a whole file."""
        self.started = False
        self.ended = False

    @property
    def pages(self) -> range:
        return range(self.extent.start // PAGE, -(-self.extent.end // PAGE))

    @property
    def wanted(self) -> bool:
        """Somebody waits for it."""
        return any(not wait.over for wait in self.waits)
