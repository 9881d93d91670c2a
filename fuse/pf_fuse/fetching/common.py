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


FAR = 0.015
"""Seconds for a small file from which on the place is far away. A loaded store on the same machine takes less."""


@dataclass(slots=True)
class Pace:
    """How long it takes to fetch a small file."""

    seconds: float = FAR
    """Of the last ones, the latest counting most."""

    def took(self, seconds: float) -> None:
        self.seconds += (seconds - self.seconds) / 8

    @property
    def far(self) -> bool:
        return self.seconds >= FAR


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
    pace: Pace = field(default_factory=Pace)
    streams: int = 0
    """Files that somebody waits for or that are fetched ahead."""
