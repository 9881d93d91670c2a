"""Connections to Postgres that never wait for ever, and that follow a database which moves."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TypeAlias

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from paddleflow.problems import DatabaseUnavailable
from pf_kit.postgres.errors import let_in, translated
from pf_kit.start import CannotStart

SPARE = 2
"""Connections that are never held for long: a lease that is not renewed, because all wait for something, is lost."""

_PLANS = {
    # Half of the time of a short statement is its plan. All but those with filters look for keys, for which there are
    # indexes, and their plan must not come from a time when a table was still small.
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    # Compiling pays for statements that take seconds.
    "jit": "off",
}

# Quoted, because only the type stubs of asyncpg know these parameters.
Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record] | PoolConnectionProxy[asyncpg.Record]"
RawPool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """How to reach the database and how long to wait for it; times in seconds."""

    dsn: str
    schema: str
    """The service's own schema: the search path of every connection."""
    min_size: int = 1
    max_size: int = 8
    """Postgres serves short transactions best with few connections; more callers wait for a moment."""
    acquire_timeout: float = 2.0
    """Longest wait for a connection: a caller is told to retry before its patience ends."""
    turn_timeout: float = 10.0
    """Longest wait until few enough hold connections: as long as for a lock, since that costs no connection either."""
    command_timeout: float = 10.0
    """Longest run of one statement."""
    idle_timeout: float = 5.0
    """Longest pause inside a transaction: it holds locks, and it hides newer events from everybody."""
    transaction_timeout: float = 30.0
    """Longest transaction; Postgres knows this limit from version 17 on."""
    lifetime: float = 240.0
    """A connection's longest life, so that after a failover none stays with the old primary."""
    start_timeout: float = 30.0
    """How long to wait for a database that is still starting."""


class Pool:
    """Lends connections."""

    def __init__(self, raw: RawPool, settings: PoolSettings) -> None:
        self._raw = raw
        self._patience = settings.acquire_timeout
        self._turn_patience = settings.turn_timeout
        self._held = asyncio.Semaphore(max(1, settings.max_size - SPARE))

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[Connection]:
        """A connection for several statements; DatabaseUnavailable if none comes free soon."""
        with translated():
            async with asyncio.timeout(self._turn_patience):
                await self._held.acquire()
        try:
            async with self.lend() as connection:
                yield connection
        finally:
            self._held.release()

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[Connection]:
        """A connection for one statement; DatabaseUnavailable if none comes free soon."""
        with translated():
            connection = await self._raw.acquire(timeout=self._patience)
        try:
            yield connection
        except asyncio.CancelledError:
            # Between preparing a statement and running it a transaction is open of which asyncpg does not know. It
            # would stay so, and the next one would begin inside of it.
            with suppress(DatabaseUnavailable, asyncpg.PostgresError), translated():
                await asyncio.shield(connection.execute("select", timeout=self._patience))
            raise
        finally:
            # A connection that breaks now has done its work already: asyncpg replaces it.
            with suppress(DatabaseUnavailable), translated():
                await self._raw.release(connection, timeout=self._patience)


@asynccontextmanager
async def open_pool(settings: PoolSettings) -> AsyncIterator[Pool]:
    """A pool that has reached the database once; DatabaseUnavailable if that takes too long, CannotStart if refused."""
    raw = await _connect(settings)
    renewal = asyncio.create_task(_renew(raw, settings.lifetime), name="postgres-renew")
    try:
        yield Pool(raw, settings)
    finally:
        renewal.cancel()
        await _close(raw, settings.acquire_timeout)


async def _connect(settings: PoolSettings) -> RawPool:
    """Tries again and again until the deadline: the database may be starting as well."""
    deadline = time.monotonic() + settings.start_timeout
    while True:
        try:
            with let_in(), translated():
                return await _create(settings)
        except ValueError:
            # Its text may have a part of the password, where that has signs that must be encoded.
            form = "postgresql://user:password@host:5432/database"
            raise CannotStart(
                f"the DSN is malformed; write {form}, with / and @ in a password as %2F and %40"
            ) from None
        except DatabaseUnavailable as error:
            if time.monotonic() > deadline:
                why = str(error.__cause__) or type(error.__cause__).__name__
                waited = f"Postgres has not answered for {settings.start_timeout:g} s"
                raise DatabaseUnavailable(f"{waited}: {why}; is it running where the DSN says?") from error.__cause__
            await asyncio.sleep(0.1)


async def _create(settings: PoolSettings) -> RawPool:
    async def prepare(connection: Connection) -> None:
        await connection.set_type_codec("jsonb", schema="pg_catalog", encoder=json.dumps, decoder=json.loads)
        if connection.get_server_version() >= (17, 0):
            await connection.execute(f"set transaction_timeout = {_milliseconds(settings.transaction_timeout)}")

    return await asyncpg.create_pool(
        settings.dsn,
        min_size=settings.min_size,
        max_size=settings.max_size,
        max_inactive_connection_lifetime=settings.lifetime,
        timeout=settings.acquire_timeout,
        command_timeout=settings.command_timeout,
        init=prepare,
        reset=_keep_session,
        server_settings={
            "application_name": f"paddleflow-{settings.schema}",
            "search_path": settings.schema,
            "statement_timeout": _milliseconds(settings.command_timeout),
            "idle_in_transaction_session_timeout": _milliseconds(settings.idle_timeout),
            "timezone": "UTC",
            **_PLANS,
        },
    )


async def _keep_session(connection: Connection) -> None:
    """Nothing: no code here changes the state of a session, and the usual reset costs a round trip each time."""


def _milliseconds(seconds: float) -> str:
    return str(round(seconds * 1000))


async def _renew(raw: RawPool, lifetime: float) -> None:
    while True:
        await asyncio.sleep(lifetime)
        await raw.expire_connections()


async def _close(raw: RawPool, patience: float) -> None:
    """Lets go of all connections; those still in use after a while are cut."""
    with suppress(TimeoutError):
        async with asyncio.timeout(patience):
            await raw.close()
