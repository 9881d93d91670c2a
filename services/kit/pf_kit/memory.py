"""A database in memory, for tests and for services that need no other.

It keeps the promises of Postgres, except that changes run one after the other and that nothing outlives the process.
"""

from __future__ import annotations

import asyncio
import uuid
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, cast

from paddleflow.problems import RequestIdReused, ResumeTokenExpired
from pf_kit.clock import Clock
from pf_kit.events import BEGINNING, Cursor, Event, Fact, Moment
from pf_kit.leases import Lease
from pf_kit.unit import AuditEntry, AuditFilter, AuditRecord, Change, Once, Snapshot, View
from pf_kit.wake import PATIENCE, Bell

Tables = Mapping[str, dict[Any, Any]]


@dataclass(slots=True)
class Committed:
    """All that is committed. Tables are replaced and never changed, so that whoever holds them holds a snapshot."""

    tables: Tables = field(default_factory=dict)
    xid: int = 0
    """The newest change's number."""
    events: list[Event] = field(default_factory=list)
    trimmed: Cursor = BEGINNING
    records: list[AuditRecord] = field(default_factory=list)
    replies: dict[tuple[str, str, str], tuple[bytes, bytes]] = field(default_factory=dict)
    """Digest and reply by principal, method and request id."""


class MemoryView:
    """Reads tables; a table is a dictionary of frozen values."""

    def __init__(self, tables: Callable[[], Tables]) -> None:
        self._tables = tables

    def table(self, name: str) -> dict[Any, Any]:
        """The rows by their key; empty if nothing was ever stored there. Only inside a change they may be changed."""
        return cast("dict[Any, Any]", MappingProxyType(self._tables().get(name, {})))


class MemorySnapshot(MemoryView):
    """The tables of one moment."""

    def __init__(self, committed: Committed) -> None:
        tables = committed.tables
        super().__init__(lambda: tables)
        self.moment = Moment(committed.xid + 1, committed.xid + 1, frozenset())


class MemoryChange(MemoryView):
    """Private copies of the tables it touches, and what is to be committed with them."""

    def __init__(self, committed: Committed, encode: Callable[[object], Fact], time: datetime) -> None:
        self.copies: dict[str, dict[Any, Any]] = {}
        super().__init__(lambda: {**committed.tables, **self.copies})
        self._committed = committed
        self._encode = encode
        self.time = time
        self.facts: list[Fact] = []
        self.entries: list[AuditEntry] = []
        self.replies: dict[tuple[str, str, str], tuple[bytes, bytes]] = {}

    def table(self, name: str) -> dict[Any, Any]:
        if name not in self.copies:
            self.copies[name] = dict(self._committed.tables.get(name, {}))
        return self.copies[name]

    def emit(self, event: object) -> None:
        self.facts.append(self._encode(event))

    def audit(self, entry: AuditEntry) -> None:
        self.entries.append(entry)

    async def replay(self, once: Once) -> bytes | None:
        digest, reply = self._committed.replies.get(_key(once), (once.digest, None))
        if digest != once.digest:
            raise RequestIdReused
        return reply

    def remember(self, once: Once, reply: bytes) -> None:
        self.replies[_key(once)] = (once.digest, reply)


def _key(once: Once) -> tuple[str, str, str]:
    return once.principal, once.method, once.request_id


class MemoryLog:
    """The events of a `MemoryDatabase`."""

    def __init__(self, committed: Committed, bell: Bell) -> None:
        self.epoch = str(uuid.uuid4())
        self._committed = committed
        self._bell = bell

    async def events_after(self, cursor: Cursor, limit: int) -> Sequence[Event]:
        self._bell.looked()
        if cursor < self._committed.trimmed or cursor.xid > self._committed.xid:
            raise ResumeTokenExpired
        start = bisect_right(self._committed.events, cursor, key=lambda event: event.cursor)
        if len(self._committed.events) > start + limit:
            self._bell.ring()
        return self._committed.events[start : start + limit]

    async def head(self) -> Cursor:
        events = self._committed.events
        return events[-1].cursor if events else self._committed.trimmed

    async def floor(self) -> Cursor:
        return self._committed.trimmed

    async def commits(self, patience: float = PATIENCE) -> bool:
        return await self._bell.wait(patience)

    def trim(self, through: Cursor) -> None:
        """Forgets the events up to a place."""
        kept = bisect_right(self._committed.events, through, key=lambda event: event.cursor)
        if kept:
            self._committed.trimmed = self._committed.events[kept - 1].cursor
            del self._committed.events[:kept]


class MemoryDatabase:
    """The truth of one service, for as long as its process lives."""

    def __init__(self, *, encode: Callable[[object], Fact], clock: Clock) -> None:
        self._encode = encode
        self._clock = clock
        self._committed = Committed()
        self._bell = Bell()
        self._lock = asyncio.Lock()
        self.log = MemoryLog(self._committed, self._bell)

    @property
    def newest(self) -> View:
        return MemoryView(lambda: self._committed.tables)

    @asynccontextmanager
    async def change(self, *locks: str, lease: Lease | None = None) -> AsyncIterator[Change]:  # noqa: ARG002
        # One lock stands for all names, and there is no other instance.
        async with self._lock:
            change = MemoryChange(self._committed, self._encode, self._clock.now())
            yield change
            self._commit(change)
        self._bell.ring()

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Snapshot]:
        yield MemorySnapshot(self._committed)

    async def audit_records(self, chosen: AuditFilter, before: int | None, limit: int) -> Sequence[AuditRecord]:
        matching = [
            record
            for record in reversed(self._committed.records)
            if (before is None or record.id < before) and _matches(record, chosen)
        ]
        return matching[:limit]

    def _commit(self, change: MemoryChange) -> None:
        committed = self._committed
        committed.xid += 1
        committed.tables = {**committed.tables, **change.copies}
        for fact in change.facts:
            self._append(fact, change.time)
        for entry in change.entries:
            committed.records.append(AuditRecord(len(committed.records) + 1, change.time, entry))
        committed.replies.update(change.replies)

    def _append(self, fact: Fact, time: datetime) -> None:
        events = self._committed.events
        number = (events[-1].cursor if events else self._committed.trimmed).id + 1
        events.append(Event(Cursor(self._committed.xid, number), fact, "", time))


def _matches(record: AuditRecord, chosen: AuditFilter) -> bool:
    return (
        chosen.actor in ("", record.entry.actor)
        and chosen.subject in ("", record.entry.subject)
        and (chosen.since is None or record.create_time >= chosen.since)
    )


def tables(view: View) -> MemoryView:
    """The tables behind a view; TypeError if it is a view of another database."""
    if not isinstance(view, MemoryView):
        raise TypeError(f"{type(view).__name__} is no view of a database in memory")
    return view
