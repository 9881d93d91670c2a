"""Engines that are logged, one after the other."""

from __future__ import annotations

from pf_queue.admission.core.pool import Tuning
from pf_queue.admission.domain import Patience
from pf_queue.admission.engine import Engine
from pf_queue.admission.journal.recorded import RecordedEngine
from pf_queue.admission.journal.writer import Writer

RETRY = 600 * 1_000_000
"""Microseconds after which a log that could not be written is begun anew."""


class RecordedEngines:
    """Fulfils `Engines` with a log of rounds."""

    def __init__(self, tuning: Tuning, patience: Patience, software: str, writer: Writer) -> None:
        self._tuning = tuning
        self._patience = patience
        self._software = software
        self._writer = writer
        self._engine: RecordedEngine | None = None
        self._silent_since: int | None = None

    def new(self) -> Engine:
        self._abandon()
        self._engine = RecordedEngine(self._tuning, self._patience, self._software, self._writer)
        return self._engine

    def stored(self) -> None:
        if self._engine is not None:
            self._engine.stored()

    async def rest(self, now: int) -> None:
        """Begins the next segment if it is time to."""
        if self._engine is None:
            return
        if not self._writer.silent:
            self._silent_since = None
        elif self._silent_since is None:
            self._silent_since = now
        retry = self._silent_since is not None and now >= self._silent_since + RETRY
        if (retry or self._writer.full) and await self._engine.renew(now):
            self._silent_since = None

    def close(self) -> None:
        """Writes what is left."""
        self._abandon()
        self._writer.close()

    def _abandon(self) -> None:
        if self._engine is not None:
            self._engine.abandoned()
            self._engine = None
