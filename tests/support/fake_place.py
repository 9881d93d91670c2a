"""A place for files that is as slow, broken or untrue as a test wants it."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pf_backends.entries import Entry, Kind
from pf_backends.errors import changed


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
    """Files by path. What it was asked for is written down."""

    address: str = "fake://place"
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
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

    def put(self, path: str, data: bytes, version: str = "1") -> Entry:
        self.files[path] = (version, data)
        return self.entry(path)

    def entry(self, path: str) -> Entry:
        version, data = self.files[path]
        return Entry(path, Kind.FILE, size=len(data), version=version)

    def read(self, path: str, offset: int, into: memoryview, *, version: str = "") -> int:
        data = self._answer(Request(path, offset, len(into)), version)
        part = data[offset : offset + len(into)]
        part = part[: len(part) - self.short]
        into[: len(part)] = part
        return len(part)

    def fetch(self, path: str, *, limit: int) -> tuple[Entry, bytes]:
        data = self._answer(Request(path, 0, limit), "")
        return self.entry(path), data[: len(data) - self.short]

    def _answer(self, request: Request, version: str) -> bytes:
        with self._lock:
            self.requests.append(request)
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            assert self.gate.wait(30), "the gate was never opened"
            self.before(request)
            found, data = self.files[request.path]
            if version and version != found:
                raise changed(request.path, "it is another version")
            return data
        finally:
            with self._lock:
                self.under_way -= 1


@dataclass
class FakeNeighbours:
    """What is in one folder, in order."""

    entries: Sequence[Entry] = ()

    def after(self, path: str, count: int) -> Sequence[Entry]:
        paths = [entry.path for entry in self.entries]
        place = paths.index(path) + 1 if path in paths else len(paths)
        return self.entries[place : place + count]
