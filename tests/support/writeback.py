"""Processes that serve a mount with write-back, over a store that answers as it is told to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pf_backends.entries import Condition, Entry, Facts
from pf_backends.errors import unreachable
from pf_backends.memory.backend import LIKE_OBJECTS, MemoryBackend
from pf_backends.port import ANYTHING, NO_FACTS
from pf_fuse.vfs import owing
from pf_fuse.vfs.owing import Bounds, Owed
from support.vfs_site import PATIENCE, Site

WIDE = Bounds(1 << 30, 300.0, 1000)
Make = Callable[..., Site]


class Store(MemoryBackend):
    """May be told not to answer when something is written to it."""

    def __init__(self) -> None:
        super().__init__(capabilities=LIKE_OBJECTS)
        self.before = self._answer
        self.silent = True
        self.deaf = False
        """It stores what it is sent, and its answers get lost."""
        self.asked = 0
        self.hangs = threading.Event()
        self.goes_on = threading.Event()

    def put(
        self, path: str, body: memoryview | bytes, *, facts: Facts = NO_FACTS, condition: Condition = ANYTHING
    ) -> Entry:
        entry = super().put(path, body, facts=facts, condition=condition)
        if self.deaf:
            self.hangs.set()
            self.goes_on.wait(PATIENCE)
            raise unreachable(path, "the answer got lost")
        return entry

    def has(self, path: str) -> bytes | None:
        try:
            return bytes(self.fetch(path, limit=1 << 20)[1])
        except FileNotFoundError:
            return None

    def _answer(self, operation: str, path: str) -> None:
        if operation in {"put", "begin"}:
            self.asked += 1
            if self.silent:
                raise unreachable(path, "no answer")


def processes(store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Each serves the mount after the one before was killed."""
    monkeypatch.setattr(owing, "_FIRST_PAUSE", 0.1)
    made: list[Site] = []

    def make(bounds: Bounds = WIDE, **how: object) -> Site:
        if made:
            made[-1].die()
        made.append(Site(store, folder, writeback=bounds, **how))  # type: ignore[arg-type]
        return made[-1]

    yield make
    made[-1].die()


def owed(site: Site) -> Owed:
    assert site.owing
    return site.owing.owed
