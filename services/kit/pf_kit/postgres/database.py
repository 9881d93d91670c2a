"""The truth of one service, in Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from hashlib import blake2b

from paddleflow.problems import Conflict, RequestIdReused
from pf_kit.events import Fact, Moment
from pf_kit.leases import Lease
from pf_kit.locks import NamedLocks
from pf_kit.postgres.errors import translated
from pf_kit.postgres.install import QUERIES, Install
from pf_kit.postgres.leases import taken_over
from pf_kit.postgres.log import PostgresLog
from pf_kit.postgres.pool import Connection, Pool
from pf_kit.postgres.transactions import transaction
from pf_kit.postgres.views import PostgresView, on_constraint
from pf_kit.unit import AuditEntry, AuditFilter, AuditRecord, Change, Once, Snapshot, View

LOCK_PATIENCE = 10.0
"""Seconds that a change waits for others of its process: as long as Postgres lets it wait for other processes."""


class PostgresSnapshot(PostgresView):
    """A read-only transaction that sees one moment."""

    def __init__(self, connection: Connection, moment: Moment) -> None:
        super().__init__(connection)
        self._moment = moment

    @property
    def moment(self) -> Moment:
        return self._moment


class PostgresChange(PostgresView):
    """A transaction, and what is written at its end."""

    def __init__(self, connection: Connection, encode: Callable[[object], Fact], time: datetime) -> None:
        super().__init__(connection)
        self._encode = encode
        self._time = time
        self._facts: list[Fact] = []
        self._entries: list[AuditEntry] = []
        self._replies: list[tuple[Once, bytes]] = []

    @property
    def time(self) -> datetime:
        return self._time

    def emit(self, event: object) -> None:
        self._facts.append(self._encode(event))

    def audit(self, entry: AuditEntry) -> None:
        self._entries.append(entry)

    async def replay(self, once: Once) -> bytes | None:
        known = await self.fetchrow(QUERIES["known_request"], once.principal, once.method, once.request_id)
        if known is None:
            return None
        if known["digest"] != once.digest:
            raise RequestIdReused
        return bytes(known["reply"])

    def remember(self, once: Once, reply: bytes) -> None:
        self._replies.append((once, reply))

    async def write_end(self, trace: str) -> int:
        """Writes what was emitted, audited and remembered, in one statement; returns the transaction, 0 if no event."""
        if not (self._facts or self._entries or self._replies):
            return 0
        # Two calls with one request id, under different locks, meet here; the later one finds the other's reply.
        with on_constraint(requests_pkey=Conflict()):
            xid = await self.fetchval(QUERIES["end_change"], *self._columns(trace))
        return int(xid) if self._facts else 0

    def _columns(self, trace: str) -> list[object]:
        facts, entries, replies = self._facts, self._entries, self._replies
        return [
            [fact.type for fact in facts],
            [fact.subject for fact in facts],
            [fact.version for fact in facts],
            [fact.payload for fact in facts],
            trace,
            [entry.actor for entry in entries],
            [entry.on_behalf_of for entry in entries],
            [entry.method for entry in entries],
            [entry.subject for entry in entries],
            [entry.peer for entry in entries],
            [entry.request_id for entry in entries],
            [once.principal for once, _ in replies],
            [once.method for once, _ in replies],
            [once.request_id for once, _ in replies],
            [once.digest for once, _ in replies],
            [reply for _, reply in replies],
            self._time,
        ]


class PostgresDatabase:
    """A service's schema in Postgres."""

    def __init__(
        self,
        pool: Pool,
        *,
        schema: str,
        install: Install,
        encode: Callable[[object], Fact],
        trace: Callable[[], str],
    ) -> None:
        self._pool = pool
        self._schema = schema
        self._encode = encode
        self._trace = trace
        self._locks = NamedLocks()
        self._newest = PostgresView(pool)
        self.log = PostgresLog(self._newest, install.epoch)

    @property
    def newest(self) -> View:
        return self._newest

    @asynccontextmanager
    async def change(self, *locks: str, lease: Lease | None = None) -> AsyncIterator[Change]:
        async with self._waited(locks), self._pool.hold() as connection:
            async with transaction(connection):
                keys = sorted({lock_key(self._schema, lock) for lock in locks})
                name, fence = (lease.name, lease.fence) if lease else (None, None)
                (begun,) = await PostgresView(connection).fetch(QUERIES["begin_change"], keys, name, fence)
                if lease and not begun["leads"]:
                    raise taken_over(lease)
                change = PostgresChange(connection, self._encode, begun["time"])
                yield change
                xid = await change.write_end(self._trace())
            if xid:
                self.log.committed(xid)

    @asynccontextmanager
    async def _waited(self, locks: Sequence[str]) -> AsyncIterator[None]:
        """Waits for other changes of this process here, where it costs no connection that a read could use."""
        async with AsyncExitStack() as held:
            with translated():
                await held.enter_async_context(self._locks.hold(locks, LOCK_PATIENCE))
            yield

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Snapshot]:
        async with (
            self._pool.hold() as connection,
            transaction(connection, isolation="repeatable_read", readonly=True),
        ):
            moment = await PostgresView(connection).fetchval(QUERIES["moment"])
            yield PostgresSnapshot(connection, Moment.parse(moment))

    async def audit_records(self, chosen: AuditFilter, before: int | None, limit: int) -> Sequence[AuditRecord]:
        found = await self._newest.fetch(
            QUERIES["audit_records"], chosen.actor, chosen.subject, chosen.since, before, limit
        )
        return [AuditRecord(row["id"], row["create_time"], AuditEntry(*list(row.values())[2:])) for row in found]


def lock_key(schema: str, name: str) -> int:
    """The advisory lock that stands for a name; names that share a key by chance only wait for each other."""
    digest = blake2b(f"{schema}/{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)
