"""Leadership: what only one instance may do is done by the holder of a lease.

A lease alone does not exclude anybody: a holder may be stopped for longer than its lease lasts, and go on as if nothing
had happened. Therefore each holder has a fence, higher than all before, and whatever it commits carries the fence.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

from paddleflow.problems import Conflict, Unavailable
from pf_kit.clock import Clock
from pf_kit.wake import until_tick

logger = logging.getLogger(__name__)

TTL = 3.0
"""Seconds that a lease lasts: how long nobody leads after a holder has died."""
PAUSE = 1.0
"""Seconds between renewals, and between attempts of those who would like to lead."""
MARGIN = TTL / 6
"""Seconds before the end at which a holder gives up: the time it needs to stop what it does."""

TRANSIENT = (Unavailable, Conflict)
"""What a store may answer that another attempt may not."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Somebody's permission to lead."""

    name: str
    holder: str
    """The instance; unique to one start of one process."""
    address: str
    """Where the holder serves calls."""
    fence: int
    """Higher than that of all holders before."""
    expires: datetime
    """By the clock of the store; nobody compares it with another."""


class LeaseStore(Protocol):
    """Where leases are kept; its clock alone decides whether a lease is over."""

    async def acquire(self, name: str, holder: str, address: str, ttl: float) -> Lease | None:
        """A lease for so many seconds with a new fence, or None as long as somebody holds it."""

    async def renew(self, lease: Lease, ttl: float) -> Lease | None:
        """The same lease, good for so many seconds from now; None if it is over."""

    async def release(self, lease: Lease) -> None:
        """Ends the lease, so that the next holder needs not wait."""

    async def read(self, name: str) -> Lease | None:
        """The lease that somebody holds now."""


class MemoryLeases:
    """Leases inside one process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._leases: dict[str, Lease] = {}
        self._ttls: dict[str, timedelta] = {}

    async def acquire(self, name: str, holder: str, address: str, ttl: float) -> Lease | None:
        known = self._leases.get(name)
        if known and self._holds(known):
            return None
        return self._put(Lease(name, holder, address, known.fence + 1 if known else 1, self._clock.now()), ttl)

    async def renew(self, lease: Lease, ttl: float) -> Lease | None:
        known = self._leases.get(lease.name)
        if not known or known.fence != lease.fence or not self._holds(known):
            return None
        return self._put(lease, ttl)

    async def release(self, lease: Lease) -> None:
        known = self._leases.get(lease.name)
        if known and known.fence == lease.fence:
            self._leases[lease.name] = replace(known, expires=datetime.min.replace(tzinfo=UTC))

    async def read(self, name: str) -> Lease | None:
        known = self._leases.get(name)
        return known if known and self._holds(known) else None

    def _put(self, lease: Lease, ttl: float) -> Lease:
        self._ttls[lease.name] = timedelta(seconds=ttl)
        self._leases[lease.name] = replace(lease, expires=self._clock.now() + self._ttls[lease.name])
        return self._leases[lease.name]

    def _holds(self, lease: Lease) -> bool:
        """What ends much later than it can have been given for is over too: the clock was set back since."""
        return timedelta(0) < lease.expires - self._clock.now() <= 2 * self._ttls[lease.name]


class Leadership:
    """One instance's wish to lead."""

    def __init__(
        self,
        store: LeaseStore,
        *,
        name: str,
        holder: str,
        address: str,
        clock: Clock,
        ttl: float = TTL,
        pause: float = PAUSE,
        margin: float = MARGIN,
    ) -> None:
        self._store = store
        self._name = name
        self._holder = holder
        self.address = address
        """Where this instance serves calls while it leads."""
        self._clock = clock
        self._ttl = ttl
        self._pause = pause
        self._margin = margin
        self._lease: Lease | None = None
        self._until = float("-inf")

    @property
    def lease(self) -> Lease | None:
        """What this instance leads by, or None when it does not lead."""
        return self._lease if self._clock.monotonic() < self._until else None

    async def run(self, work: Callable[[Lease], Awaitable[None]]) -> None:
        """Does the work whenever this instance leads, and cancels it in time when it ceases to; ends with the work."""
        while True:
            lease = await self._acquire()
            logger.info("leading", extra={"lease": lease.name, "fence": lease.fence})
            try:
                if await self._lead(lease, work):
                    return
            finally:
                await self._give_up(lease)
            logger.warning("no longer leading", extra={"lease": lease.name, "fence": lease.fence})

    async def _acquire(self) -> Lease:
        while True:
            asked = self._clock.monotonic()
            with suppress(*TRANSIENT):
                if lease := await self._store.acquire(self._name, self._holder, self.address, self._ttl):
                    self._held(lease, asked)
                    return lease
            await asyncio.sleep(self._pause)

    async def _lead(self, lease: Lease, work: Callable[[Lease], Awaitable[None]]) -> bool:
        """True if the work came to its end, False if the lease did."""
        working = asyncio.ensure_future(work(lease))
        try:
            while self.lease:
                # An answer that was long on its way may leave less time than a pause.
                now = self._clock.monotonic()
                patience = min(until_tick(now, self._pause), self._until - now)
                if (await asyncio.wait([working], timeout=patience))[0]:
                    await working
                    return True
                await self._renew(lease)
            return False
        finally:
            working.cancel()
            await asyncio.wait([working])

    async def _renew(self, lease: Lease) -> None:
        """Renews, or notes that the lease was lost; while the database is away, it is kept for as long as it lasts."""
        asked = self._clock.monotonic()
        with suppress(*TRANSIENT, TimeoutError):
            async with asyncio.timeout(self._until - asked):
                if renewed := await self._store.renew(lease, self._ttl):
                    self._held(renewed, asked)
                else:
                    self._until = float("-inf")

    def _held(self, lease: Lease, asked: float) -> None:
        """Counts from before the question: the store's answer may have been on its way for long."""
        self._lease = lease
        self._until = asked + self._ttl - self._margin

    async def _give_up(self, lease: Lease) -> None:
        self._until = float("-inf")
        with suppress(*TRANSIENT, TimeoutError):
            async with asyncio.timeout(self._pause):
                await self._store.release(lease)
