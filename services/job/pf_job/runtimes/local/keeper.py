"""Looks at the logs of running replicas: notes when they grew, and gives back what is beyond their limit."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from pf_job.runtimes.local import layout, timeindex
from pf_job.runtimes.local.kernel import punch_hole
from pf_job.runtimes.local.loop import Loop, now
from pf_job.runtimes.local.timeindex import Mark

SHORTEST = 1.0
LONGEST = 4.0
"""Seconds between two looks at a log, the longer the less happens."""
BLOCK = 4_096
"""Holes begin and end at multiples of it."""


@dataclass(slots=True)
class Log:
    """A log that may still grow."""

    folder: str
    limit: int | None
    seen: Mark
    """How it was seen last."""
    last: int = 0
    """Time of the last mark in its index."""
    marks: int = 0
    pause: float = SHORTEST
    kept_from: int = 0
    is_over: bool = False


class Keeper:
    """Keeps the indexes of logs, and the logs within their limits."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._logs: dict[str, Log] = {}

    def begin(self, name: str, folder: str, limit: int | None) -> None:
        log = Log(folder, limit, Mark(_time(), 0))
        with suppress(OSError):
            marks = timeindex.decode(_read(f"{folder}/{layout.INDEX}"))
            if marks:
                log.seen, log.last, log.marks = marks[-1], marks[-1].time, len(marks)
        self._logs[name] = log
        self._loop.call_at(_next_look(log), self._later(log))

    def end(self, name: str) -> None:
        log = self._logs.pop(name, None)
        if log is not None:
            log.is_over = True
            self._look(log)

    def _later(self, log: Log) -> Callable[[], None]:
        def look() -> None:
            if not log.is_over:
                grew = self._look(log)
                log.pause = SHORTEST if grew else min(LONGEST, log.pause * 2)
                self._loop.call_at(_next_look(log), look)

        return look

    def _look(self, log: Log) -> bool:
        """Whether it has grown."""
        path = f"{log.folder}/{layout.LOG}"
        try:
            size = os.stat(path).st_size
        except OSError:
            return False
        before, log.seen = log.seen, Mark(_time(), size)
        if size == before.size:
            return False
        with suppress(OSError):
            _extend(log, before)
        if size < before.size:
            # It was emptied, so what is written next has no hole yet.
            log.kept_from = 0
        if log.limit is not None:
            with suppress(OSError):
                _punch(log, path, beginning(size, log.limit))
        return True


def _next_look(log: Log) -> float:
    """At a multiple of the pause, so that many logs are looked at together."""
    return (now() // log.pause + 1) * log.pause


def _extend(log: Log, before: Mark) -> None:
    path = f"{log.folder}/{layout.INDEX}"
    marks = timeindex.growth(before, log.seen, log.last)
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(handle, timeindex.encode(marks))
    finally:
        os.close(handle)
    log.last, log.marks = log.seen.time, log.marks + len(marks)
    if log.marks > timeindex.LONGEST:
        _thin(log, path)


def _thin(log: Log, path: str) -> None:
    kept = timeindex.thinned(timeindex.decode(_read(path)))
    partial = f"{path}.partial"
    with open(partial, "wb") as file:
        file.write(timeindex.encode(kept))
    os.rename(partial, path)
    log.marks = len(kept)


def beginning(size: int, limit: int) -> int:
    """Where what is kept begins of a log of this size."""
    return (size - limit) // BLOCK * BLOCK


def _punch(log: Log, path: str, until: int) -> None:
    """Gives back what lies before an offset."""
    if until <= log.kept_from:
        return
    handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        punch_hole(handle, log.kept_from, until - log.kept_from)
    finally:
        os.close(handle)
    log.kept_from = until


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _time() -> int:
    return time.time_ns() // 1_000
