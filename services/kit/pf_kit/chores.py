"""What one instance of a service does for all of them, beside the calls that are served."""

from __future__ import annotations

import asyncio

from pf_kit.bus.relay import Relay
from pf_kit.leases import Leadership, Lease
from pf_kit.postgres.sweep import Sweeper

CHORES = "chores"
"""The lease of the instance that does them."""


class Chores:
    """What one instance does for all: it carries events to the bus, and deletes what is old."""

    def __init__(self, *, leadership: Leadership, relay: Relay, sweeper: Sweeper) -> None:
        self._leadership = leadership
        self._relay = relay
        self._sweeper = sweeper

    async def run(self) -> None:
        """Does the work whenever this instance holds the lease, until it is cancelled."""
        await self._leadership.run(self._work)

    async def _work(self, _lease: Lease) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._relay.run())
            group.create_task(self._sweeper.run())
