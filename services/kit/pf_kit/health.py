"""Whether the process lives and whether it can answer, in the words of ``grpc.health.v1``."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from grpc_health.v1 import health
from grpc_health.v1.health_pb2 import HealthCheckResponse

from paddleflow.problems import Problem
from pf_kit.unit import EventLog

logger = logging.getLogger(__name__)

LIVE = ""
"""The process answers at all."""
READY = "readiness"
"""The process can do its work: its database is reachable."""
PAUSE = 3.0
"""Seconds between looks at the database."""
PATIENCE = 2.0
"""Seconds after which a database that does not answer counts as unreachable."""


class Health:
    """Tells the state of a process and of its services, which are ready when the process is."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self.servicer = health.aio.HealthServicer()
        self.ready = False
        self._draining = False

    async def run(self, services: Sequence[str]) -> None:
        """Looks at the database until it is cancelled. Without Redis the process is ready: it is only slower."""
        await self.servicer.set(LIVE, HealthCheckResponse.SERVING)
        while True:
            await self._set([READY, *services], ready=await self._reachable())
            await asyncio.sleep(PAUSE)

    async def drain(self) -> None:
        """Tells everybody to call another instance."""
        self._draining = True
        self.ready = False
        await self.servicer.enter_graceful_shutdown()

    async def _reachable(self) -> bool:
        try:
            async with asyncio.timeout(PATIENCE):
                await self._log.head()
        except (Problem, TimeoutError):
            return False
        return True

    async def _set(self, names: Sequence[str], *, ready: bool) -> None:
        if self._draining:
            return
        if ready != self.ready:
            logger.info("ready" if ready else "not ready, the database does not answer")
        self.ready = ready
        status = HealthCheckResponse.SERVING if ready else HealthCheckResponse.NOT_SERVING
        for name in names:
            await self.servicer.set(name, status)
