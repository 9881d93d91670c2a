"""Who leads, as the lease says."""

from __future__ import annotations

from paddleflow.problems import NoLeader
from pf_kit.clock import Clock
from pf_kit.leases import Leadership, LeaseStore
from pf_kit.listen import require_reachable

FRESH = 0.5
"""Seconds for which an address is used without reading the lease again; a lease lasts six times as long."""


class LeaseLeader:
    """Knows the leader by its lease."""

    def __init__(self, leadership: Leadership, store: LeaseStore, name: str, clock: Clock) -> None:
        """Raises CannotStart if the others could not reach this instance as leader.

        The address may be empty until the instance listens: before that it does not lead.
        """
        if leadership.address:
            require_reachable(leadership.address)
        self._leadership = leadership
        self._store = store
        self._name = name
        self._clock = clock
        self._address = ""
        self._read = float("-inf")

    @property
    def leading(self) -> bool:
        return self._leadership.lease is not None

    async def address(self) -> str:
        if self._clock.monotonic() - self._read > FRESH:
            lease = await self._store.read(self._name)
            self._address = lease.address if lease else ""
            self._read = self._clock.monotonic()
        if not self._address:
            raise NoLeader(retry_after=1.0)
        return self._address
