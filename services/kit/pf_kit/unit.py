"""How services read and change their database, whatever it is.

A service's store takes a `View` for each read and a `Change` for each write. A `Change` is one transaction: the rows,
the events that tell of them, the audit record and the reply to a repeated request become visible together or not at
all.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from pf_kit.events import Cursor, Event, Moment
from pf_kit.leases import Lease
from pf_kit.wake import PATIENCE


@dataclass(frozen=True, slots=True)
class Once:
    """Identifies a request that must take effect once, however often it arrives."""

    principal: str
    method: str
    request_id: str
    digest: bytes
    """Keyed hash of the request without its id: tells a retry from another request under the same id."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Who changed what; the time and the number are the database's."""

    actor: str
    on_behalf_of: str
    method: str
    subject: str
    peer: str
    request_id: str


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """A stored audit entry."""

    id: int
    create_time: datetime
    entry: AuditEntry


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which audit records to list; empty fields match all."""

    actor: str = ""
    subject: str = ""
    since: datetime | None = None


class View(Protocol):
    """Somewhere rows can be read: the newest committed state, a snapshot, or the inside of a change."""


class Snapshot(View, Protocol):
    """One moment of the database, the same for all reads, which knows which events it includes."""

    @property
    def moment(self) -> Moment:
        """Which events the snapshot includes, as a value that outlives it."""


class Change(View, Protocol):
    """One transaction under way."""

    @property
    def time(self) -> datetime:
        """The database's time at which the change held its locks: later than that of all changes it waited for."""

    def emit(self, event: object) -> None:
        """Tells the world about a domain event once the change is committed."""

    def audit(self, entry: AuditEntry) -> None:
        """Adds the record of who did it."""

    async def replay(self, once: Once) -> bytes | None:
        """The reply this request got before, or None if it is new.

        Raises RequestIdReused if the id came with another request.
        """

    def remember(self, once: Once, reply: bytes) -> None:
        """Keeps the reply for a repetition of the request."""


class EventLog(Protocol):
    """The events of a service, in order."""

    @property
    def epoch(self) -> str:
        """The life of the database; a restore from a back-up starts a new one."""

    async def events_after(self, cursor: Cursor, limit: int) -> Sequence[Event]:
        """The next events after a place, in order, none of which can be overtaken any more.

        At most so many, and fewer if they are large; none only if there are no more. Raises ResumeTokenExpired if
        events after the place are no longer kept, or if the place lies where no event has been yet: the database has
        lost its newest changes, and what it tells now is another story than that of the place.
        """

    async def head(self) -> Cursor:
        """The newest place that `events_after` reaches."""

    async def floor(self) -> Cursor:
        """The oldest place that `events_after` accepts: what comes after it is still kept."""

    async def commits(self, patience: float = PATIENCE) -> bool:
        """Waits until there may be events that the running task has not read yet: after a commit of this process at
        once, after one of another within about a second; but so many seconds at most. False if there are none.
        """


class Database(Protocol):
    """The truth of one service."""

    @property
    def newest(self) -> View:
        """The newest committed state; each read sees the state of its own moment."""

    @property
    def log(self) -> EventLog:
        """What was committed, in order."""

    def change(self, *locks: str, lease: Lease | None = None) -> AbstractAsyncContextManager[Change]:
        """Begins a change; leaving the block commits it, an exception undoes it.

        With a lease it commits only as long as nobody has taken that over; Aborted if somebody has. Who would take it
        over from now on waits for the change.

        The locks are held until the end and taken before anything else, in sorted order. Changes of one subject must
        share a lock: it makes the order of events the order of commits.
        """

    def snapshot(self) -> AbstractAsyncContextManager[Snapshot]:
        """Holds one moment still. Keep it short: it holds back clean-up."""

    async def audit_records(self, chosen: AuditFilter, before: int | None, limit: int) -> Sequence[AuditRecord]:
        """Audit records, newest first, with numbers below `before`."""
