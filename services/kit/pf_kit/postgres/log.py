"""The event log in Postgres."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from paddleflow.problems import Problem, ResumeTokenExpired
from pf_kit.events import Cursor, Event, Fact
from pf_kit.postgres.install import QUERIES
from pf_kit.postgres.views import PostgresView, Row
from pf_kit.shared import Shared
from pf_kit.wake import PATIENCE, Bell, this_task, until_tick

POLL = 1.0
"""Seconds between looks for what other processes have committed: one for all who follow."""
HELD_BACK_POLLS = 0.001, 0.02
"""Seconds until the second look, and at most between two, while an older transaction, still under way, hides events of
this process: most end in a moment."""
READ_BYTES = 4 * 1024 * 1024
"""After payloads of so many bytes no more events are read at once, however many are asked for."""


class PostgresLog:
    """The events of a service, in order."""

    def __init__(self, view: PostgresView, epoch: str) -> None:
        self._view = view
        self._epoch = epoch
        self._bell = Bell()
        self._committed = 0
        self._look = Shared(self._look_for_others, POLL / 2)
        self._head: Cursor | None = None
        """The newest place when it was last looked for what others have committed; None if nobody knows."""
        self._seen: WeakKeyDictionary[asyncio.Task[Any], int] = WeakKeyDictionary()
        """By follower: the first transaction that it could not see yet when it last looked."""
        self._more: WeakSet[asyncio.Task[Any]] = WeakSet()
        """Followers who did not get all that there was."""
        self._pauses: WeakKeyDictionary[asyncio.Task[Any], float] = WeakKeyDictionary()
        """By follower who is held back: seconds until its next look."""

    @property
    def epoch(self) -> str:
        return self._epoch

    async def events_after(self, cursor: Cursor, limit: int) -> Sequence[Event]:
        self._bell.looked()
        rows = await self._view.fetch(QUERIES["events_after"], cursor.xid, cursor.id, limit, READ_BYTES)
        self._seen[this_task()] = rows[0]["xmin"]
        if rows[0]["expired"]:
            raise ResumeTokenExpired
        events = [_event(row) for row in rows if row["xid"] is not None]
        if len(events) == limit or sum(len(event.fact.payload) for event in events) >= READ_BYTES:
            self._more.add(this_task())
        return events

    async def head(self) -> Cursor:
        return await self._place("head")

    async def floor(self) -> Cursor:
        return await self._place("floor")

    async def commits(self, patience: float = PATIENCE) -> bool:
        if this_task() in self._more:
            self._more.discard(this_task())
            return True
        if self._committed >= self._seen.get(this_task(), self._committed + 1):
            await self._held_back()
            return True
        self._pauses.pop(this_task(), None)
        until = _now() + patience
        while not await self._bell.wait(min(until_tick(_now(), POLL), until - _now())):
            if _now() >= until:
                return False
            await self._look()
        return True

    async def _held_back(self) -> None:
        first, longest = HELD_BACK_POLLS
        pause = self._pauses.get(this_task(), first)
        self._pauses[this_task()] = min(2 * pause, longest)
        await self._bell.wait(pause)

    async def _look_for_others(self) -> None:
        """Rings if others may have committed something."""
        before, self._head = self._head, await self._newest()
        if self._head != before or before is None:
            self._bell.ring()

    async def _newest(self) -> Cursor | None:
        try:
            return await self.head()
        except Problem:
            # Those who follow find out for themselves, and know what to do.
            return None

    def committed(self, xid: int) -> None:
        """Wakes the followers: a transaction of this process has committed events."""
        self._committed = max(self._committed, xid)
        self._bell.ring()

    async def _place(self, query: str) -> Cursor:
        row = await self._view.fetchrow(QUERIES[query])
        if row is None:
            raise LookupError("the table outbox_trimmed is empty; was the schema migrated?")
        return Cursor(row["xid"], row["id"])


def _now() -> float:
    return asyncio.get_running_loop().time()


def _event(row: Row) -> Event:
    _, _, xid, number, kind, subject, version, payload, trace, created = row
    return Event(Cursor(xid, number), Fact(kind, subject, version, payload), trace, created)
