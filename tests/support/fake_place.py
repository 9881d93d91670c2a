"""A place for files that is as slow, broken or untrue as a test wants it."""

from __future__ import annotations

import random
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from pf_backends.entries import Entry
from pf_backends.memory.backend import LIKE_OBJECTS, MemoryBackend


def content(seed: object, size: int) -> bytes:
    """The bytes of a file, always the same ones."""
    return random.Random(str(seed)).randbytes(size)


@dataclass(frozen=True)
class Request:
    path: str
    offset: int
    size: int


@dataclass
class FakePlace:
    """Files in memory. What it was asked for is written down."""

    inner: MemoryBackend = field(default_factory=lambda: MemoryBackend(capabilities=LIKE_OBJECTS))
    requests: list[Request] = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)
    """While it is not set nobody gets an answer."""
    before: Callable[[Request], None] = lambda request: None
    """Called for each request; may fail, or change something."""
    short: int = 0
    """So many bytes are held back of each."""
    under_way: int = 0
    most_under_way: int = 0

    def __post_init__(self) -> None:
        self.gate.set()
        self._lock = threading.Lock()

    @property
    def address(self) -> str:
        return "memory://place"

    def put(self, path: str, data: bytes) -> Entry:
        return self.inner.put(path, data)

    def entry(self, path: str) -> Entry:
        return self.inner.stat(path)

    def read(self, path: str, offset: int, into: memoryview, *, version: str = "") -> int:
        with self._asked(Request(path, offset, len(into))):
            return self.inner.read(path, offset, into, version=version) - self.short

    def fetch(self, path: str, *, limit: int) -> tuple[Entry, bytes]:
        with self._asked(Request(path, 0, limit)):
            entry, data = self.inner.fetch(path, limit=limit)
            return entry, data[: len(data) - self.short]

    @contextmanager
    def _asked(self, request: Request) -> Iterator[None]:
        with self._lock:
            self.requests.append(request)
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            assert self.gate.wait(30), "the gate was never opened"
            self.before(request)
            yield
        finally:
            with self._lock:
                self.under_way -= 1


@dataclass
class FakeNeighbours:
    """What is in one folder, in order."""

    entries: Sequence[Entry] = ()

    def after(self, path: str, count: int) -> Sequence[Entry]:
        paths = [entry.path for entry in self.entries]
        place = bisect_right(paths, path)
        return self.entries[place : place + count]
