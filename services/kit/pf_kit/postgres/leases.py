"""Leases in Postgres, by Postgres' clock."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from paddleflow.problems import Aborted
from pf_kit.leases import Lease
from pf_kit.postgres.install import QUERIES
from pf_kit.postgres.views import PostgresView, Row, rows
from pf_kit.unit import Change

GRACE = 1.0
"""Seconds that changes under a lease that is over may still take: a holder that stands still would hold on for ever."""


class PostgresLeases:
    """The leases of a service."""

    def __init__(self, view: PostgresView) -> None:
        self._view = view

    async def acquire(self, name: str, holder: str, address: str, ttl: float) -> Lease | None:
        # Looking first spares the row a lock, and the database a transaction, each second of each waiting instance.
        if await self.read(name):
            return None
        taking = asyncio.ensure_future(
            self._view.fetchrow(QUERIES["acquire_lease"], name, holder, address, timedelta(seconds=ttl))
        )
        try:
            if not (await asyncio.wait([taking], timeout=GRACE))[0]:
                await self._view.execute(QUERIES["cut_holders"], QUERIES["acquire_lease"])
            return _lease(await taking)
        finally:
            taking.cancel()

    async def renew(self, lease: Lease, ttl: float) -> Lease | None:
        return _lease(
            await self._view.fetchrow(QUERIES["renew_lease"], lease.name, lease.fence, timedelta(seconds=ttl))
        )

    async def release(self, lease: Lease) -> None:
        await self._view.execute(QUERIES["release_lease"], lease.name, lease.fence)

    async def read(self, name: str) -> Lease | None:
        return _lease(await self._view.fetchrow(QUERIES["read_lease"], name))


async def fence(change: Change, lease: Lease) -> None:
    """Lets the change commit only as long as nobody has taken the lease over; Aborted if somebody has.

    Who would take it over from now on waits for the change.
    """
    if not await rows(change).fetchval(QUERIES["hold_fence"], lease.name, lease.fence):
        raise taken_over(lease)


def taken_over(lease: Lease) -> Aborted:
    """What whoever led before is told."""
    return Aborted(f"{lease.holder} no longer holds the lease {lease.name}: it was taken over; try again")


def _lease(row: Row | None) -> Lease | None:
    return Lease(*row.values()) if row else None
