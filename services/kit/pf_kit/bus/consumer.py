"""Takes in the events of another service, each exactly once and in order.

How far it has come is a row in the consumer's own schema, which moves in the transaction of the effects. Redis only
says sooner what the owner would say as well: a gap, silence or a deaf bus lead to the owner.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic

from paddleflow.problems import Problem, ResumeTokenExpired
from pf_kit.bus.codec import Batch
from pf_kit.bus.ports import EventSource, Handler, Position, State
from pf_kit.bus.progress import Gap, fresh
from pf_kit.bus.relay import backoff
from pf_kit.bus.stream import BusUnavailable, RedisStream
from pf_kit.clock import Clock
from pf_kit.postgres.positions import PostgresInbox
from pf_kit.unit import Database

logger = logging.getLogger(__name__)

LISTEN = 2.0
"""Longest wait for the bus, in seconds; a bus that hangs is noticed soon after."""
SILENCE = 10.0
"""Seconds without an event after which the owner is asked whether there really is none."""
DEAF = 1.0
"""Seconds between questions to the owner while the bus does not answer."""
NOTE_PAUSE = 10.0
"""Seconds between notes of the place while events have no effect. After a crash they are looked at again."""
PAGE = 500
"""Events asked of the owner at once."""
LONGEST_BACKOFF = 5.0


class HandlerFailed(Exception):
    """The handler could not do its part; it is tried again."""


@dataclass(slots=True)
class ConsumerStats:
    """What the consumer in this process has done."""

    applied: int = 0
    asked: int = 0
    """How often the owner was asked."""
    resyncs: int = 0
    failures: int = 0


class Consumer(Generic[State]):
    """One consumer of one service's events. Several instances may run: whoever is first with a batch applies it."""

    def __init__(
        self,
        name: str,
        source: str,
        database: Database,
        bus: RedisStream,
        owner: EventSource,
        handler: Handler[State],
        clock: Clock,
    ) -> None:
        self._name = name
        self._source = source
        self._database = database
        self._bus = bus
        self._owner = owner
        self._handler = handler
        self._clock = clock
        self._inbox = PostgresInbox(name, source)
        self._noted: tuple[Position | None, float] = None, 0.0
        """The place in the inbox as this instance knows it, and since when."""
        self.stats = ConsumerStats()

    async def run(self) -> None:
        """Takes in events for ever; what fails is tried again, and nothing overtakes it."""
        failures = 0
        while True:
            applied = self.stats.applied
            try:
                await self._follow()
            except (Problem, HandlerFailed) as error:
                self.stats.failures += 1
                failures = failures + 1 if self.stats.applied == applied else 0
                logger.warning(
                    "consumer waits",
                    exc_info=error if isinstance(error, HandlerFailed) else None,
                    extra={"consumer": self._name, "source": self._source, "detail": str(error), "failures": failures},
                )
            await asyncio.sleep(backoff(failures, LONGEST_BACKOFF))

    async def _follow(self) -> None:
        position = self._note(await self._inbox.read(self._database.newest))
        if position is None:
            position = await self._start_over()
        while True:
            try:
                position = await self._catch_up(position)
                position = await self._listen(position)
            except ResumeTokenExpired:
                position = await self._start_over()

    async def _catch_up(self, position: Position) -> Position:
        """Asks the owner until it knows nothing newer."""
        while True:
            self.stats.asked += 1
            batch = await self._owner.events_after(position, PAGE)
            if not batch.events:
                return position
            position = await self._apply([batch], position)

    async def _listen(self, position: Position) -> Position:
        """Applies what the bus brings, until there is reason to ask the owner."""
        heard = self._clock.monotonic()
        while self._clock.monotonic() - heard < SILENCE:
            try:
                batches = await self._bus.read(position, LISTEN)
                if batches:
                    position = await self._apply(batches, position)
                    heard = self._clock.monotonic()
            except Gap:
                return position
            except BusUnavailable as problem:
                logger.warning("bus is away", extra={"consumer": self._name, "detail": problem.message})
                await asyncio.sleep(DEAF)
                return position
        return position

    async def _apply(self, batches: Sequence[Batch], position: Position) -> Position:
        """Applies what follows the place; whoever else is at it waits, and finds nothing left."""
        events = fresh(position, batches)
        if not events:
            return position
        noted, since = self._noted
        if not any(map(self._handler.heeds, events)) and self._clock.monotonic() - since < NOTE_PAUSE:
            self.stats.applied += len(events)
            return Position(position.epoch, events[-1].cursor)
        async with self._database.change(self._lock, *self._handler.locks(events)) as change:
            claimed = await self._inbox.claim(change)
            if claimed is None:
                raise ResumeTokenExpired
            # What lies between the note and the place has no effect.
            claimed = position if claimed == noted else claimed
            events = fresh(claimed, batches)
            if events:
                with self._handling(f"apply the events {events[0].cursor} to {events[-1].cursor}"):
                    await self._handler.apply(change, events)
                claimed = Position(claimed.epoch, events[-1].cursor)
                await self._inbox.move(change, claimed)
        self.stats.applied += len(events)
        self._note(claimed)
        return claimed

    def _note(self, position: Position | None) -> Position | None:
        self._noted = position, self._clock.monotonic()
        return position

    @contextmanager
    def _handling(self, what: str) -> Iterator[None]:
        """Inside, whatever the handler raises is a failure that it can be tried again after."""
        try:
            yield
        except Problem:
            raise
        except Exception as error:
            raise HandlerFailed(f"{self._name} cannot {what}: {error!r}") from error

    async def _start_over(self) -> Position:
        """Takes the owner's whole state instead of its events."""
        head = await self._owner.head()
        with self._handling("gather the owner's state"):
            state = await self._handler.gather()
        async with self._database.change(self._lock, *self._handler.locks(())) as change:
            claimed = await self._inbox.claim(change)
            if claimed and claimed.epoch == head.epoch and claimed.cursor >= head.cursor:
                self._note(claimed)
                return claimed
            with self._handling("take over the owner's state"):
                await self._handler.resync(change, state)
            await self._inbox.move(change, head)
        self.stats.resyncs += 1
        self._note(head)
        return head

    @property
    def _lock(self) -> str:
        return f"inbox/{self._name}/{self._source}"
