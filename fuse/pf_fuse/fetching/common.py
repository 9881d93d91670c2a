"""What all files that are read have in common."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Protocol

from pf_backends.entries import Entry
from pf_fuse.fetching.memory import Memory
from pf_fuse.fetching.settings import FetchSettings
from pf_fuse.fetching.turns import Turns
from pf_fuse.fetching.watching import Watch
from pf_fuse.pages.cache import PageCache


class Source(Protocol):
    """What is needed of a backend; see `pf_backends.port`."""

    @property
    def address(self) -> str: ...

    def read(self, path: str, offset: int, into: memoryview, *, version: str = "") -> int: ...

    def fetch(self, path: str, *, limit: int) -> tuple[Entry, bytes]: ...


@dataclass(slots=True)
class Counts:
    """What was done so far; in bytes where nothing else is said."""

    asked: int = 0
    """By reads of files that were not whole when they were asked."""
    waited: int = 0
    """Of these, by reads that had to wait."""
    whole: int = 0
    """Read here from files that were whole; what the kernel reads by itself nobody counts."""
    fetched: int = 0
    fetched_ahead: int = 0
    requests: int = 0
    failures: int = 0
    """Requests that failed."""


@dataclass(slots=True, eq=False)
class Common:
    """What all files that are read have in common."""

    source: Source
    cache: PageCache
    settings: FetchSettings
    lock: threading.Lock
    """Held for moments only; whoever needs something of the below holds it."""
    memory: Memory
    turns: Turns
    watch: Watch
    freed: threading.Condition
    """Memory may be there for who waits for some."""
    counts: Counts = field(default_factory=Counts)
    streams: int = 0
    """Files that somebody waits for or that are fetched ahead."""
