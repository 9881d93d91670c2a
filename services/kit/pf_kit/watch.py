"""Watches: the things as they are, then every change of them, each exactly once and in order.

A watch begins with a snapshot. Changes that the snapshot shows already are passed over, those that it does not show
are told: which is which the snapshot itself knows. A watch that resumes reads the event log up to where the process's
tail of it begins.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from paddleflow.problems import WatchTooSlow
from pf_kit.call import current_call
from pf_kit.clock import Clock
from pf_kit.events import Event
from pf_kit.principal import Principal
from pf_kit.resume import Place, parse_resume_token, resume_token
from pf_kit.tail import READ, Tail
from pf_kit.unit import Database, View

M = TypeVar("M")

PAGE = 200
"""Things or changes in one message: a message costs as much as sixty changes in it."""
KEPT = 10_000
"""Events that a watcher may fall behind; some 5 MB for all watchers together."""
KEPT_BYTES = 16 * 1024 * 1024
"""Payloads that a watcher may fall behind, should events be that long; some twice as much is kept for a while."""


@dataclass(frozen=True, slots=True)
class WatchPage(Generic[M]):
    """One message of a watch."""

    messages: Sequence[M]
    resume_token: str
    """Resumes after these messages; empty while the things that exist are not all told."""
    bookmark: bool
    """True if nothing older than the token is still to come."""


class Watches:
    """All watches of one process; it reads the log once for all of them."""

    def __init__(
        self,
        database: Database,
        recheck: Callable[[Principal], Awaitable[None]],
        clock: Clock,
        *,
        bookmark_seconds: float = 5.0,
        kept: int = KEPT,
        kept_bytes: int = KEPT_BYTES,
    ) -> None:
        """`recheck` raises if a caller may not go on; it is asked before each page, bookmarks included."""
        self._database = database
        self._recheck = recheck
        self._clock = clock
        self._seconds = bookmark_seconds
        self._tail = Tail(database.log, size=kept, room=kept_bytes)

    async def run(self) -> None:
        """Follows the log for all watches, until it is cancelled."""
        await self._tail.run()

    def close(self) -> None:
        """Ends all watches with ShuttingDown, and every one that is begun later."""
        self._tail.close()

    async def watch(
        self,
        token: str,
        *,
        existing: Callable[[View], Awaitable[Sequence[M]]],
        changes: Callable[[Event], Awaitable[Sequence[M]]],
    ) -> AsyncIterator[WatchPage[M]]:
        """Without a token: what exists, then its changes. With one: the changes after it.

        `existing` reads all things from a snapshot; `changes` tells what an event means to this caller, often nothing.
        Ends only with a problem: ResumeTokenInvalid, ResumeTokenExpired, WatchTooSlow, ShuttingDown, or that of a
        token that is not good any more.
        """
        principal = current_call().principal
        async for page in self._pages(token, existing, changes):
            await self._recheck(principal)
            yield page

    async def _pages(
        self,
        token: str,
        existing: Callable[[View], Awaitable[Sequence[M]]],
        changes: Callable[[Event], Awaitable[Sequence[M]]],
    ) -> AsyncIterator[WatchPage[M]]:
        await self._tail.ready()
        self._tail.take(self._tail.next, 0)
        epoch = self._database.log.epoch
        if token:
            place = parse_resume_token(epoch, token)
            if place.cursor > self._tail.head:
                # Read by another instance perhaps, which is ahead of this one. If not, the log refuses it.
                await self._database.log.events_after(place.cursor, 0)
        else:
            place, messages = await self._begin(existing)
            for page in _existing_pages(messages, resume_token(epoch, place)):
                yield page
            # A watch may last for days; what existed at its beginning must not stay in memory for as long.
            del messages, page
        stream = _Stream(self._database, self._tail, self._clock, self._seconds, changes, place)
        async for page in stream.catch_up():
            yield page
        if token:
            yield stream.page((), bookmark=True)
        async for page in stream.follow():
            yield page

    async def _begin(self, existing: Callable[[View], Awaitable[Sequence[M]]]) -> tuple[Place, Sequence[M]]:
        # The tail's head comes first: a snapshot taken later includes all up to there, whatever lies beyond.
        head = self._tail.head
        async with self._database.snapshot() as snapshot:
            return Place(head, snapshot.moment), await existing(snapshot)


def _existing_pages(messages: Sequence[M], token: str) -> list[WatchPage[M]]:
    """Only the last page can be resumed from: it has the token, and is there even if nothing exists."""
    parts = [messages[start : start + PAGE] for start in range(0, len(messages), PAGE)] or [messages]
    return [*(WatchPage(part, "", bookmark=False) for part in parts[:-1]), WatchPage(parts[-1], token, bookmark=True)]


class _Stream(Generic[M]):
    """One watch after its beginning."""

    def __init__(
        self,
        database: Database,
        tail: Tail,
        clock: Clock,
        seconds: float,
        changes: Callable[[Event], Awaitable[Sequence[M]]],
        place: Place,
    ) -> None:
        self._log = database.log
        self._tail = tail
        self._clock = clock
        self._seconds = seconds
        self._changes = changes
        self._place = place
        self._due = clock.monotonic() + seconds
        """When the next bookmark must be sent."""

    async def catch_up(self) -> AsyncIterator[WatchPage[M]]:
        """Tells what is older than the tail."""
        while self._tail.number_after(self._place.cursor) is None:
            async for page in self._older():
                yield page

    async def follow(self) -> AsyncIterator[WatchPage[M]]:
        """Tells the events of the tail, for ever."""
        number = self._tail.number_after(self._place.cursor)
        if number is None:
            raise WatchTooSlow
        while True:
            events = self._tail.take(number, READ)
            number += len(events)
            async for page in self._told(events):
                yield page
            if self._is_due():
                yield self.page((), bookmark=True)
            if not events:
                await self._tail.news(number, self._due - self._clock.monotonic())

    def page(self, messages: Sequence[M], *, bookmark: bool) -> WatchPage[M]:
        return WatchPage(messages, resume_token(self._log.epoch, self._place), bookmark)

    async def _older(self) -> AsyncIterator[WatchPage[M]]:
        """Tells the next events of the log."""
        await self._tail.ready()
        floor = self._tail.floor
        events = await self._log.events_after(self._place.cursor, READ)
        if not events:
            # Nothing lies between this place and the tail as it was before the log was read.
            self._place = self._place.moved(floor)
        async for page in self._told(events):
            yield page

    async def _told(self, events: Sequence[Event]) -> AsyncIterator[WatchPage[M]]:
        messages: list[M] = []
        for event in events:
            if not self._place.has_told(event):
                messages += await self._changes(event)
            self._place = self._place.moved(event.cursor)
            if len(messages) >= PAGE:
                yield self.page(messages, bookmark=False)
                messages = []
        if messages:
            yield self.page(messages, bookmark=False)

    def _is_due(self) -> bool:
        """True if it is time for a bookmark; the next one is due later then."""
        if self._clock.monotonic() < self._due:
            return False
        self._due = self._clock.monotonic() + self._seconds
        return True
