"""Reads and writes rows; what asyncpg raises on the way comes out as problems."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from pf_kit.postgres.errors import on_constraint, translated
from pf_kit.postgres.pool import Connection, Pool
from pf_kit.postgres.queries import Filtered
from pf_kit.unit import View

__all__ = ["PostgresView", "Row", "on_constraint", "rows"]

Row = asyncpg.Record


class PostgresView:
    """Somewhere rows can be read: a connection inside its transaction, or a pool that lends one for each statement."""

    def __init__(self, source: Pool | Connection) -> None:
        self._source = source

    async def fetch(self, sql: str, *args: object) -> list[Row]:
        """All rows of a query."""
        async with self._lent(sql) as connection:
            return await connection.fetch(str(sql), *args)

    async def fetchrow(self, sql: str, *args: object) -> Row | None:
        """The first row of a query, or None if there is none."""
        async with self._lent(sql) as connection:
            return await connection.fetchrow(str(sql), *args)

    async def fetchval(self, sql: str, *args: object) -> Any:  # noqa: ANN401 - whatever type the column has
        """The first column of the first row, or None if there is none."""
        async with self._lent(sql) as connection:
            return await connection.fetchval(str(sql), *args)

    async def execute(self, sql: str, *args: object) -> str:
        """Runs a statement and returns its command tag, for example ``UPDATE 1``."""
        async with self._lent(sql) as connection:
            return await connection.execute(str(sql), *args)

    @asynccontextmanager
    async def _lent(self, sql: str) -> AsyncIterator[Connection]:
        """A connection that plans this query as it should be."""
        if isinstance(self._source, Pool):
            async with self._source.lend() as connection, _planned(connection, sql):
                yield connection
        else:
            async with _planned(self._source, sql):
                yield self._source


@asynccontextmanager
async def _planned(connection: Connection, sql: str) -> AsyncIterator[None]:
    """While it lasts, a query with filters is planned for what is asked; others have one plan for all calls."""
    with translated():
        if not isinstance(sql, Filtered):
            yield
            return
        # Whoever fails leaves it so, which costs the next ones no more than a little time.
        await connection.execute("set plan_cache_mode = auto; set enable_seqscan = on")
        yield
        await connection.execute("reset plan_cache_mode; reset enable_seqscan")


def rows(view: View) -> PostgresView:
    """The rows behind a view; TypeError if it is a view of another database."""
    if not isinstance(view, PostgresView):
        raise TypeError(f"{type(view).__name__} is no view of a Postgres database")
    return view
