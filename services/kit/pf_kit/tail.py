"""The newest events of a service, read once per process and kept for a while for all who watch."""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress

from paddleflow.problems import (
    DatabaseUnavailable,
    OutOfRange,
    ResumeTokenExpired,
    ShuttingDown,
    Unavailable,
    WatchTooSlow,
)
from pf_kit.events import BEGINNING, Cursor, Event
from pf_kit.unit import EventLog

logger = logging.getLogger(__name__)

READ = 500
"""Events read from the log at once."""
SPACINGS = 0.001, 0.01
"""Seconds between the first two reads and, after some more, between any two while events pour in: watchers keep up,
and send many events in one message, which is what makes a hundred watchers affordable."""
RETRY = 0.5
"""Seconds until the log is read again after the database failed."""
START = 2.0
"""Seconds that a watcher waits for the first read."""


class Tail:
    """Follows a log and keeps at least the `size` newest events; fewer if their payloads have more bytes than `room`,
    which must be more than one read of the log brings.

    Readers take events by their number, which counts from the start of the process, each at its own speed; one that
    falls back by more than is kept is refused. So a reader costs no memory, however slow it is.
    """

    def __init__(self, log: EventLog, *, size: int, room: int) -> None:
        self._log = log
        self._size = size
        self._room = room
        self._events: list[Event] = []
        self._bytes = 0
        """Of the payloads of the events kept."""
        self._first = 0
        """The number of the oldest event kept."""
        self._lost = 0
        """Readers below this number have missed events that the log had no more."""
        self._started = asyncio.Event()
        self._news = asyncio.Event()
        self._closed = False
        self.floor = BEGINNING
        """The place just before the oldest event kept."""

    @property
    def next(self) -> int:
        """The number that the next event will have."""
        return self._first + len(self._events)

    @property
    def head(self) -> Cursor:
        """The place up to which the log has been read."""
        return self._events[-1].cursor if self._events else self.floor

    async def ready(self) -> None:
        """Waits until the log has been read once."""
        try:
            async with asyncio.timeout(START):
                await self._started.wait()
        except TimeoutError:
            raise DatabaseUnavailable from None

    def number_after(self, cursor: Cursor) -> int | None:
        """The number of the first event after a place; None if that event is not kept here."""
        if cursor < self.floor or not self._started.is_set():
            return None
        return self._first + bisect_right(self._events, cursor, key=lambda event: event.cursor)

    def take(self, number: int, limit: int) -> Sequence[Event]:
        """The events from this number on, as far as there are any."""
        if self._closed:
            raise ShuttingDown
        if number < self._lost:
            raise ResumeTokenExpired
        if number < self._first:
            raise WatchTooSlow
        start = number - self._first
        return self._events[start : start + limit]

    async def news(self, number: int, seconds: float) -> None:
        """Waits until there is something to take from this number on, or until the time is over."""
        if self.next == number and not self._closed:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._news.wait()

    async def run(self) -> None:
        """Follows the log until it is cancelled."""
        while True:
            try:
                await self._follow()
            except Unavailable:
                logger.warning("cannot read events, watchers wait", exc_info=True)
                await asyncio.sleep(RETRY)
            except OutOfRange:
                logger.warning("events were removed before they were read, watchers must begin anew")
                self._lose()

    def close(self) -> None:
        """Ends all readers, since the process is about to stop."""
        self._closed = True
        self._started.set()
        self._wake()

    async def _follow(self) -> None:
        if not self._started.is_set():
            self.floor = await self._log.head()
            self._started.set()
        shortest, longest = SPACINGS
        spacing, now = shortest, asyncio.get_running_loop().time
        while True:
            events = await self._log.events_after(self.head, READ)
            if events:
                self._keep(events)
                await asyncio.sleep(spacing)
            waits = now()
            await self._log.commits()
            spacing = shortest if now() - waits > longest else min(2 * spacing, longest)

    def _keep(self, events: Sequence[Event]) -> None:
        self._events += events
        self._bytes += _bytes(events)
        # By halves, so that dropping costs little for each event.
        if len(self._events) > 2 * self._size or self._bytes > 2 * self._room:
            self._drop(self._surplus())
        self._wake()

    def _surplus(self) -> int:
        """How many of the oldest events are more than is to be kept."""
        surplus = max(len(self._events) - self._size, 0)
        left = self._bytes - _bytes(self._events[:surplus])
        while left > self._room:
            left -= len(self._events[surplus].fact.payload)
            surplus += 1
        return surplus

    def _drop(self, surplus: int) -> None:
        self.floor = self._events[surplus - 1].cursor
        self._first += surplus
        self._bytes -= _bytes(self._events[:surplus])
        del self._events[:surplus]

    def _lose(self) -> None:
        self._first = self._lost = self.next + 1
        self._events, self._bytes = [], 0
        self._started.clear()
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


def _bytes(events: Sequence[Event]) -> int:
    return sum(len(event.fact.payload) for event in events)
