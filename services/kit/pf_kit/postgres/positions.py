"""Places in event logs that a service keeps in its schema."""

from __future__ import annotations

from pf_kit.bus.ports import Position
from pf_kit.events import Cursor
from pf_kit.postgres.install import QUERIES
from pf_kit.postgres.views import PostgresView, Row, rows
from pf_kit.unit import Change, View


class PostgresRelayMark:
    """How far the events of the service are on the bus."""

    def __init__(self, view: PostgresView) -> None:
        self._view = view

    async def read(self) -> Cursor:
        row = await self._view.fetchrow(QUERIES["relayed"])
        if row is None:
            raise LookupError("the table relay_cursor is empty; was the schema migrated?")
        return Cursor(row["xid"], row["id"])

    async def advance(self, cursor: Cursor) -> None:
        await self._view.execute(QUERIES["advance_relay"], cursor.xid, cursor.id)


class PostgresInbox:
    """How far a consumer has applied the events of another service."""

    def __init__(self, consumer: str, source: str) -> None:
        self._consumer = consumer
        self._source = source

    async def read(self, view: View) -> Position | None:
        """The last applied place; None before the first."""
        return _position(await rows(view).fetchrow(QUERIES["applied"], self._consumer, self._source))

    async def claim(self, change: Change) -> Position | None:
        """The last applied place, which nobody else moves until the change is over."""
        return _position(await rows(change).fetchrow(QUERIES["claim_applied"], self._consumer, self._source))

    async def move(self, change: Change, position: Position) -> None:
        """Notes what the change applies."""
        place = (position.epoch, position.cursor.xid, position.cursor.id)
        await rows(change).execute(QUERIES["move_applied"], self._consumer, self._source, *place)


def _position(row: Row | None) -> Position | None:
    return Position(row["epoch"], Cursor(row["xid"], row["id"])) if row else None
