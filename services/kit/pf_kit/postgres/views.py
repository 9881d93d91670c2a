"""Reads and writes rows; what asyncpg raises on the way comes out as problems."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

import asyncpg

from pf_kit.postgres.errors import on_constraint, translated
from pf_kit.postgres.pool import Connection, Pool
from pf_kit.unit import View

__all__ = ["PostgresView", "Row", "on_constraint", "rows"]

Row = asyncpg.Record


class PostgresView:
    """Somewhere rows can be read: a connection inside its transaction, or a pool that lends one for each statement."""

    def __init__(self, source: Pool | Connection) -> None:
        self._source = source

    async def fetch(self, sql: str, *args: object) -> list[Row]:
        """All rows of a query."""
        async with self._lent() as connection:
            with translated():
                return await connection.fetch(sql, *args)

    async def fetchrow(self, sql: str, *args: object) -> Row | None:
        """The first row of a query, or None if there is none."""
        async with self._lent() as connection:
            with translated():
                return await connection.fetchrow(sql, *args)

    async def fetchval(self, sql: str, *args: object) -> Any:  # noqa: ANN401 - whatever type the column has
        """The first column of the first row, or None if there is none."""
        async with self._lent() as connection:
            with translated():
                return await connection.fetchval(sql, *args)

    async def execute(self, sql: str, *args: object) -> str:
        """Runs a statement and returns its command tag, for example ``UPDATE 1``."""
        async with self._lent() as connection:
            with translated():
                return await connection.execute(sql, *args)

    def _lent(self) -> AbstractAsyncContextManager[Connection]:
        return self._source.lend() if isinstance(self._source, Pool) else nullcontext(self._source)


def rows(view: View) -> PostgresView:
    """The rows behind a view; TypeError if it is a view of another database."""
    if not isinstance(view, PostgresView):
        raise TypeError(f"{type(view).__name__} is no view of a Postgres database")
    return view
