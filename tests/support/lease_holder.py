"""A process that holds a lease and writes under its fence until it is refused: `lease_holder.py DSN`."""

from __future__ import annotations

import asyncio
import sys

from paddleflow.problems import Aborted, DatabaseUnavailable
from pf_kit.events import Fact
from pf_kit.ids import new_id
from pf_kit.postgres.database import PostgresDatabase
from pf_kit.postgres.install import read_install
from pf_kit.postgres.leases import PostgresLeases, fence
from pf_kit.postgres.pool import PoolSettings, open_pool
from pf_kit.postgres.views import PostgresView, rows

SHUT_OUT = 3


async def main(dsn: str) -> int:
    async with open_pool(PoolSettings(dsn, "kit", idle_timeout=1.0)) as pool:
        view = PostgresView(pool)
        install = await read_install(view)
        database = PostgresDatabase(
            pool, schema="kit", install=install, encode=lambda _: Fact("", "", 0, b""), trace=lambda: ""
        )
        lease = await PostgresLeases(view).acquire("x", "first", "", 1.0)
        assert lease
        while True:
            try:
                async with database.change() as change:
                    await fence(change, lease)
                    await rows(change).execute("insert into items values ($1, $2)", new_id(), lease.fence)
            except DatabaseUnavailable:
                # Postgres has ended the transaction in the midst of which the process was stopped.
                continue
            except Aborted:
                return SHUT_OUT


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1])))
