"""Carries the outbox to the bus."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from paddleflow.problems import Conflict, ResumeTokenExpired, Unavailable
from pf_kit.bus.codec import Batch
from pf_kit.bus.ports import Publisher, RelayMark
from pf_kit.clock import Clock
from pf_kit.events import Cursor, Event
from pf_kit.unit import EventLog
from pf_kit.wake import PATIENCE

logger = logging.getLogger(__name__)

READ_EVENTS = 1000
"""Events that are read, and published, at once."""
BATCH_EVENTS = 200
"""Events in one message: fewer would make messages the cost."""
BATCH_BYTES = 128 * 1024
"""A message ends once its payloads reach this size: what Redis keeps is counted in messages."""
NOTE_PAUSE = 0.5
"""Seconds between notes of the place. After a crash what came since is published again, and refused by Redis."""
BACKOFF = 0.05
"""Seconds before the first attempt after a failure."""
LONGEST_BACKOFF = 1.0


@dataclass(slots=True)
class RelayStats:
    """What the relay of this process has done."""

    published: int = 0
    failures: int = 0


class Relay:
    """Publishes the events of one service, in order, as soon as they are committed.

    Several may run at once, and one may die at any step: a batch that is on the bus is refused the second time, and a
    batch cut differently overlaps, which readers see by its places. One at a time is enough, though.
    """

    def __init__(self, log: EventLog, mark: RelayMark, bus: Publisher, clock: Clock) -> None:
        self._log = log
        self._mark = mark
        self._bus = bus
        self._clock = clock
        self.stats = RelayStats()

    async def run(self) -> None:
        """Publishes for ever; while the bus or the database is away, it tries again and again."""
        failures = 0
        while True:
            published = self.stats.published
            try:
                await self._follow()
            except (Unavailable, Conflict) as problem:
                self.stats.failures += 1
                failures = failures + 1 if self.stats.published == published else 0
                told = {"reason": problem.reason, "detail": problem.message, "cause": repr(problem.__cause__)}
                logger.warning("relay waits", extra=told)
            await asyncio.sleep(backoff(failures))

    async def _follow(self) -> None:
        place = await self._mark.read()
        noted, noted_at = place, self._clock.monotonic()
        while True:
            place, events = await self._next(place)
            if events:
                await self._bus.publish(list(batches(self._log.epoch, place, events)))
                place = events[-1].cursor
                self.stats.published += len(events)
            if place != noted and self._clock.monotonic() - noted_at >= NOTE_PAUSE:
                await self._mark.advance(place)
                noted, noted_at = place, self._clock.monotonic()
            await self._log.commits(PATIENCE if place == noted else NOTE_PAUSE)

    async def _next(self, place: Cursor) -> tuple[Cursor, Sequence[Event]]:
        """The next events, and the place just before them."""
        try:
            return place, await self._log.events_after(place, READ_EVENTS)
        except ResumeTokenExpired:
            # Events are gone that never were on the bus. What follows must not seem to follow them: readers have to see
            # the gap, and ask the owner, who tells them to read the state anew.
            floor = await self._log.floor()
            return floor, await self._log.events_after(floor, READ_EVENTS)


def batches(epoch: str, place: Cursor, events: Sequence[Event]) -> Iterator[Batch]:
    """Cuts the events that follow a place into messages that follow each other."""
    start = size = 0
    for end, event in enumerate(events, 1):
        size += len(event.fact.payload)
        if size >= BATCH_BYTES or end - start == BATCH_EVENTS or end == len(events):
            yield Batch(epoch, place, events[start:end])
            place, start, size = event.cursor, end, 0


def backoff(failures: int, longest: float = LONGEST_BACKOFF) -> float:
    """Seconds to wait after so many failures in a row: twice as long each time, with chance so that not all come."""
    pause: float = min(longest, BACKOFF * 2 ** min(failures, 16))
    return pause * random.uniform(0.5, 1.0)  # noqa: S311 - not a secret
