"""Transactions whose end is never in doubt to whoever borrows the connection next."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Literal

from paddleflow.problems import DatabaseUnavailable
from pf_kit.postgres.errors import translated
from pf_kit.postgres.pool import Connection

Isolation = Literal["read_committed", "repeatable_read"]


@asynccontextmanager
async def transaction(
    connection: Connection, *, isolation: Isolation = "read_committed", readonly: bool = False
) -> AsyncIterator[None]:
    """Commits what the block did, or undoes it if the block raises.

    DatabaseUnavailable from the commit itself leaves open whether it happened: only a repetition under the same request
    id finds out.
    """
    running = connection.transaction(isolation=isolation, readonly=readonly)
    with translated():
        await running.start()
    try:
        yield
    except BaseException:
        # What the block raised matters more than that the connection broke as well.
        with suppress(DatabaseUnavailable), translated():
            await running.rollback()
        raise
    try:
        with translated():
            await running.commit()
    except BaseException:
        # Nobody knows what it is in the midst of. It may also be gone already.
        with suppress(DatabaseUnavailable), translated():
            connection.terminate()
        raise
