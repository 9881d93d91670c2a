"""Facts that were committed, and where they stand in the order of their service."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

LARGEST = 2**63 - 1
"""The largest number in a cursor; Postgres counts no further."""


@dataclass(frozen=True, slots=True, order=True)
class Cursor:
    """A place in the event order of one database.

    The order is by transaction first, because numbers alone are given out before commits: a reader that went by them
    would pass over a transaction that commits late.
    """

    xid: int
    id: int

    def __str__(self) -> str:
        """The cursor as an entry id of a Redis stream."""
        return f"{self.xid}-{self.id}"

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """The cursor of such an entry id; ValueError if it is none."""
        xid, separator, number = text.partition("-")
        if not separator or not xid.isdecimal() or not number.isdecimal():
            raise ValueError(f"not a cursor: {text!r}")
        return cls(int(xid), int(number))


BEGINNING = Cursor(0, 0)


@dataclass(frozen=True, slots=True)
class Moment:
    """Which transactions a snapshot sees; written as Postgres writes a ``pg_snapshot``, small enough for a token."""

    xmin: int
    """All transactions below are over."""
    xmax: int
    """No transaction from here on is seen."""
    running: frozenset[int]
    """Transactions in between that were under way, hence are not seen."""

    def includes(self, cursor: Cursor) -> bool:
        """True if the snapshot sees the effects of this event's transaction."""
        return cursor.xid < self.xmax and cursor.xid not in self.running

    def __str__(self) -> str:
        return f"{self.xmin}:{self.xmax}:{','.join(str(xid) for xid in sorted(self.running))}"

    @classmethod
    def parse(cls, text: str) -> Moment:
        """The moment of such a text; ValueError if it is none."""
        xmin, xmax, running = text.split(":")
        return cls(int(xmin), int(xmax), frozenset(int(xid) for xid in running.split(",") if xid))


@dataclass(frozen=True, slots=True)
class Fact:
    """What a change has to tell the world, ready to be stored."""

    type: str
    """Full name of the payload's protobuf message."""
    subject: str
    """``<kind>/<name>``."""
    version: int
    """The subject's version after the change."""
    payload: bytes


@dataclass(frozen=True, slots=True)
class Event:
    """A stored fact."""

    cursor: Cursor
    fact: Fact
    trace: str
    """W3C traceparent of the call that caused it; empty when that call was not traced."""
    create_time: datetime
