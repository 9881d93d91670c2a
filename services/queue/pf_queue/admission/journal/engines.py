"""Engines that are logged, one after the other."""

from __future__ import annotations

from typing import Protocol

from pf_queue.admission.core.pool import Tuning
from pf_queue.admission.domain import Patience
from pf_queue.admission.engine import Engine
from pf_queue.admission.journal.recorded import Log, RecordedEngine
from pf_queue.admission.journal.writer import LARGE_SEGMENT

RETRY = 600 * 1_000_000
"""Microseconds after which a log that could not be written is begun anew."""


class Segments(Log, Protocol):
    """A log in segments."""

    @property
    def fullness(self) -> float:
        """How large the last segment is, as a part of what it should be."""

    @property
    def silent(self) -> bool:
        """True if nothing is written until there is another opening."""

    def close(self) -> None:
        """Writes what is left."""


class RecordedEngines:
    """Fulfils `Engines` with a log of rounds."""

    def __init__(self, tuning: Tuning, patience: Patience, software: str, log: Segments) -> None:
        self._tuning = tuning
        self._patience = patience
        self._software = software
        self._log = log
        self._engine: RecordedEngine | None = None
        self._silent_since: int | None = None

    def new(self) -> Engine:
        self._abandon()
        self._engine = RecordedEngine(self._tuning, self._patience, self._software, self._log)
        return self._engine

    def stored(self) -> None:
        if self._engine is not None:
            self._engine.stored()

    async def rest(self, now: int) -> None:
        """Begins the next segment if it is time to, and rather when there is nothing else to do: calls wait for it."""
        if self._engine is None:
            return
        if not self._log.silent:
            self._silent_since = None
        elif self._silent_since is None:
            self._silent_since = now
        retry = self._silent_since is not None and now >= self._silent_since + RETRY
        fullness = self._log.fullness
        full = fullness >= LARGE_SEGMENT or (fullness >= 1 and self._engine.idle)
        if (retry or full) and await self._engine.renew(now):
            self._silent_since = None

    def close(self) -> None:
        """Writes what is left."""
        self._abandon()
        self._log.close()

    def _abandon(self) -> None:
        if self._engine is not None:
            self._engine.abandoned()
            self._engine = None
