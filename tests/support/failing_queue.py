"""The queue service with failpoints: real parts, each wrapped so that it tells where the leader is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any, cast
from unittest.mock import patch

import pf_kit.forward
import pf_kit.ground
import pf_kit.leading
import pf_kit.postgres.database
import pf_kit.postgres.log
import pf_queue.admission.leading
import pf_queue.app
from pf_kit.leading import LeaseLeader
from pf_kit.leases import Leadership, Lease
from pf_kit.postgres.leases import PostgresLeases, fence
from pf_kit.postgres.pool import Connection, PoolSettings
from pf_kit.postgres.transactions import transaction
from pf_kit.postgres.views import rows
from pf_kit.unit import AuditFilter, AuditRecord, Change, Database, EventLog, Snapshot, View
from pf_queue.admission.domain import Effects, Record
from pf_queue.admission.layout import ClusterFacts, Layout
from pf_queue.admission.leading import Layouts, Leading
from pf_queue.admission.postgres import PostgresWorkloadStore
from pf_queue.app import ADMISSION
from support.failpoints import Failpoints, Point

TURNING: ContextVar[bool] = ContextVar("turning", default=False)
"""True inside the transaction of a turn of the leader."""

TURNS = """
    create table public.turns (xid xid8 primary key default pg_current_xact_id(), fence bigint not null);
    grant all on public.turns to public
"""
"""Which transaction was whose: each carries the fence it was made under."""


@dataclass
class Steps:
    """Where the leader is."""

    points: Failpoints[Point]
    loaded: bool = False
    """False until the state is read, and again when a commit has failed."""


@dataclass
class FailingDatabase:
    """Fulfils `Database` for the leader."""

    real: Database
    steps: Steps

    @property
    def newest(self) -> View:
        return self.real.newest

    @property
    def log(self) -> EventLog:
        return self.real.log

    def snapshot(self) -> AbstractAsyncContextManager[Snapshot]:
        return self.real.snapshot()

    async def audit_records(self, chosen: AuditFilter, before: int | None, limit: int) -> Sequence[AuditRecord]:
        return await self.real.audit_records(chosen, before, limit)

    def change(self, *locks: str) -> AbstractAsyncContextManager[Change]:
        return self._turn(*locks) if self.steps.loaded else self._taking_over(*locks)

    @asynccontextmanager
    async def _taking_over(self, *locks: str) -> AsyncIterator[Change]:
        async with self.real.change(*locks) as change:
            yield change
        self.steps.points.passed(Point.LOADING)

    @asynccontextmanager
    async def _turn(self, *locks: str) -> AsyncIterator[Change]:
        passed, turning = self.steps.points.passed, TURNING.set(True)
        passed(Point.DECIDED)
        try:
            async with self.real.change(*locks) as change:
                passed(Point.BEGUN)
                yield change
                passed(Point.WRITTEN)
        except BaseException:
            self.steps.loaded = False
            raise
        finally:
            TURNING.reset(turning)
        passed(Point.COMMITTED)


class FailingStore(PostgresWorkloadStore):
    """Tells when all is read."""

    def __init__(self, steps: Steps) -> None:
        super().__init__()
        self._steps = steps

    async def unfinished(self, view: View) -> Sequence[Record]:
        found = await super().unfinished(view)
        self._steps.points.passed(Point.LOADED)
        self._steps.loaded = True
        return found


@dataclass
class FailingLayouts:
    """Tells when a leader looks at queues and machines anew."""

    real: Layouts
    steps: Steps

    async def read(self, view: View) -> Layout:
        layout = await self.real.read(view)
        if self.steps.loaded:
            self.steps.points.passed(Point.REFRESHING)
        return layout

    async def facts(self, view: View) -> Sequence[ClusterFacts]:
        return await self.real.facts(view)


class FailingLeases(PostgresLeases):
    """Tells who has the lease."""

    def __init__(self, view: Any, steps: Steps) -> None:
        super().__init__(view)
        self._steps = steps

    async def acquire(self, name: str, holder: str, address: str, ttl: float) -> Lease | None:
        lease = await super().acquire(name, holder, address, ttl)
        if name == ADMISSION:
            self._steps.loaded = False
            self._steps.points.passed(Point.LEASED if lease else Point.WAITING)
        return lease


class FailingLeader(LeaseLeader):
    """Tells when a call is handed on."""

    def __init__(self, points: Failpoints[Point], *given: Any) -> None:
        super().__init__(*given)
        self._points = points

    async def address(self) -> str:
        address = await super().address()
        self._points.passed(Point.FORWARDING)
        return address


@dataclass
class FailingTransaction:
    """The transaction of a turn, which tells how far its end is."""

    real: Any
    points: Failpoints[Point]

    async def start(self) -> None:
        await self.real.start()

    async def rollback(self) -> None:
        await self.real.rollback()

    async def commit(self) -> None:
        self.points.passed(Point.COMMITTING)
        committing = asyncio.ensure_future(self.real.commit())
        # In the next turn of the loop the task hands its bytes over, at the end of which they are written.
        for _ in range(2):
            await asyncio.sleep(0)
        self.points.passed(Point.SENT)
        await committing


@dataclass
class FailingConnection:
    """As much of a connection as a transaction needs to begin and end."""

    real: Connection
    points: Failpoints[Point]

    def transaction(self, **how: Any) -> FailingTransaction:
        return FailingTransaction(self.real.transaction(**how), self.points)

    def terminate(self) -> None:
        self.real.terminate()


@dataclass(frozen=True)
class Haste:
    """Seconds, each shorter than the service has it, so that a test sees much happen."""

    ttl: float = 0.6
    """Of the lease."""
    pause: float = 0.1
    """Between two looks at it and at what others have changed, and before a leader begins anew."""
    margin: float = 0.1
    """Before the end of its lease at which a leader gives up."""
    idle: float = 1.0
    """That a transaction may stand still."""


def failing(points: Failpoints[Point], haste: Haste) -> ExitStack:
    """Inside, the service is put together from parts with failpoints."""
    steps = Steps(points)
    leadership = partial(Leadership, ttl=haste.ttl, pause=haste.pause, margin=haste.margin)
    inside = ExitStack()
    parts: Mapping[ModuleType, Mapping[str, Any]] = {
        pf_queue.app: {
            "Leading": partial(_leading, steps),
            "LeaseLeader": partial(FailingLeader, points),
        },
        pf_kit.ground: {
            "Leadership": leadership,
            "PostgresLeases": partial(FailingLeases, steps=steps),
            "PoolSettings": partial(PoolSettings, idle_timeout=haste.idle),
        },
        pf_queue.admission.leading: {"LOOK": haste.pause},
        pf_kit.leading: {"FRESH": haste.ttl / 6},
        pf_kit.postgres.log: {"POLL": haste.pause},
        pf_kit.postgres.database: {"transaction": partial(_transaction, points)},
        pf_kit.forward: {"_answer": partial(_answer, points, pf_kit.forward._answer)},  # noqa: SLF001  # has no port
    }
    for module, replaced in parts.items():
        inside.enter_context(patch.multiple(module, **replaced))
    return inside


def _leading(steps: Steps, **parts: Any) -> Leading:
    stored: Callable[[Effects], None] = parts["stored"]

    def told(effects: Effects) -> None:
        stored(effects)
        steps.points.passed(Point.STORED)

    async def fenced(change: Change, lease: Lease) -> None:
        await fence(change, lease)
        await rows(change).execute("insert into public.turns (fence) values ($1)", lease.fence)
        if TURNING.get():
            steps.points.passed(Point.FENCED)

    return Leading(
        **parts
        | {
            "database": FailingDatabase(parts["database"], steps),
            "store": FailingStore(steps),
            "layouts": FailingLayouts(parts["layouts"], steps),
            "fence": fenced,
            "stored": told,
        }
    )


@asynccontextmanager
async def _transaction(points: Failpoints[Point], connection: Connection, **how: Any) -> AsyncIterator[None]:
    if not TURNING.get():
        async with transaction(connection, **how):
            yield
        return
    points.backend = connection.get_server_pid()
    try:
        async with transaction(cast("Connection", FailingConnection(connection, points)), **how):
            yield
    finally:
        points.backend = 0


async def _answer(points: Failpoints[Point], real: Callable[..., Awaitable[bytes]], *given: Any) -> bytes:
    answer = await real(*given)
    points.passed(Point.ANSWERED)
    return answer
