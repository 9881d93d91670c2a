"""A bus in memory with Redis' rules, and faults before, inside and after each step of a relay."""

from __future__ import annotations

from collections.abc import Sequence

from paddleflow.problems import Unavailable
from pf_kit.bus.codec import Batch
from pf_kit.events import BEGINNING, Cursor, Event
from pf_kit.unit import EventLog
from pf_kit.wake import PATIENCE


class Killed(Exception):
    """The relay's process is gone."""


class Faults:
    """Raises an exception at one of the steps that are counted."""

    def __init__(self, at: int = -1, how: type[Exception] = Killed) -> None:
        self.steps = 0
        self._at = at
        self._how = how

    def step(self) -> None:
        self.steps += 1
        if self.steps == self._at:
            raise self._how


class FakeMark:
    """How far the relay has come."""

    def __init__(self) -> None:
        self.place = BEGINNING
        self.faults = Faults()

    async def read(self) -> Cursor:
        self.faults.step()
        return self.place

    async def advance(self, cursor: Cursor) -> None:
        self.faults.step()
        self.place = max(self.place, cursor)
        self.faults.step()


class FakeBus:
    """A stream that refuses what is not above its newest entry."""

    def __init__(self) -> None:
        self.entries: list[Batch] = []
        self.faults = Faults()

    async def publish(self, batches: Sequence[Batch]) -> None:
        for batch in batches:
            self.faults.step()
            if not self.entries or batch.last > self.entries[-1].last:
                self.entries.append(batch)
        self.faults.step()


class FaultyLog:
    """An event log that fails to be read when the faults say so."""

    def __init__(self, log: EventLog, faults: Faults) -> None:
        self._log = log
        self.faults = faults

    @property
    def epoch(self) -> str:
        return self._log.epoch

    async def events_after(self, cursor: Cursor, limit: int) -> Sequence[Event]:
        self.faults.step()
        return await self._log.events_after(cursor, limit)

    async def head(self) -> Cursor:
        return await self._log.head()

    async def floor(self) -> Cursor:
        return await self._log.floor()

    async def commits(self, patience: float = PATIENCE) -> bool:
        self.faults.step()
        return await self._log.commits(patience)


class BusGone(Unavailable):
    """The bus does not answer."""
