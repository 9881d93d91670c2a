"""Nothing is kept for ever: old rows go in small batches, so that nobody waits for them."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from paddleflow.problems import Problem
from pf_kit.postgres.install import QUERIES
from pf_kit.postgres.views import PostgresView

logger = logging.getLogger(__name__)

_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*")
BATCH = 1000
BREATH = 0.05
"""Seconds between two batches of one table."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How long the rows of a table are kept."""

    table: str
    column: str
    """The column with a row's time; it should have an index."""
    keep: timedelta
    batch: int = BATCH

    def __post_init__(self) -> None:
        if not _IDENTIFIER.fullmatch(self.table) or not _IDENTIFIER.fullmatch(self.column):
            raise ValueError(f"{self.table}.{self.column} is no name of a column")

    @property
    def statement(self) -> str:
        """Deletes one batch of rows older than $1."""
        return (
            f"delete from {self.table} where ctid = any (array(select ctid from {self.table}"  # noqa: S608 - checked
            f" where {self.column} < now() - $1::interval order by {self.column} limit $2))"
        )


EVENTS_KEPT = timedelta(days=7)
"""How long a watcher or a consumer may be away and still go on where it was."""
REQUESTS_KEPT = timedelta(hours=48)
"""How long a repetition is recognised: longer than any client goes on retrying."""
AUDIT_KEPT = timedelta(days=400)


def kit_retentions(requests: timedelta = REQUESTS_KEPT, audit: timedelta = AUDIT_KEPT) -> tuple[Retention, ...]:
    """How long the rows are kept that every service has, except for events, which go in their order."""
    return Retention("requests", "create_time", requests), Retention("audit", "create_time", audit)


class Sweeper:
    """Deletes what is older than its retention. Several may run at once; one is enough."""

    def __init__(
        self,
        view: PostgresView,
        retentions: Sequence[Retention],
        *,
        events: timedelta = EVENTS_KEPT,
        pause: float = 60.0,
    ) -> None:
        self._view = view
        self._retentions = retentions
        self._events = events
        self._pause = pause

    async def run(self) -> None:
        """Sweeps again and again, for ever."""
        while True:
            try:
                await self.sweep()
            except Problem as problem:
                logger.warning("sweep failed", extra={"reason": problem.reason, "cause": repr(problem.__cause__)})
            await asyncio.sleep(self._pause)

    async def sweep(self) -> None:
        """Sweeps each table once."""
        await _repeat(self._trim, BATCH)
        for retention in self._retentions:
            await _repeat(partial(self._delete, retention), retention.batch)

    async def _trim(self) -> int:
        return int(await self._view.fetchval(QUERIES["trim_outbox"], self._events, BATCH))

    async def _delete(self, retention: Retention) -> int:
        tag = await self._view.execute(retention.statement, retention.keep, retention.batch)
        return int(tag.rpartition(" ")[2])


async def _repeat(delete: Callable[[], Awaitable[int]], batch: int) -> None:
    """Deletes until a batch is not full, which says that nothing old is left."""
    while True:
        if await delete() < batch:
            return
        await asyncio.sleep(BREATH)
