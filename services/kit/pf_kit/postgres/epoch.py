"""What has to be forgotten after a restore from a back-up."""

from __future__ import annotations

from pf_kit.postgres.install import QUERIES
from pf_kit.postgres.pool import Connection

LOST_FENCES = 1_000_000
"""More fences than can have been given out between a back-up and its restore."""


async def new_epoch(connection: Connection, schema: str) -> str:
    """Begins a new life of a service's data, while none of its instances runs; returns the epoch.

    - Events: those after the back-up were seen by others and are now untrue, and their places will be used again. All
      are forgotten, and the places with them; the new epoch tells whoever kept one to read the state anew.
    - Inbox: the other services' data were restored as well, or know more than this service; forgetting where it was
      makes each consumer read their state anew.
    - Requests stay: a reply is here exactly if its effect is.
    - Leases end, and their fences jump ahead of all that were given out after the back-up.
    - Audit, installation and secret stay.
    """
    async with connection.transaction():
        await connection.execute("select set_config('search_path', $1, true)", schema)
        for query in ("forget_events", "forget_trimming", "forget_relay", "forget_inbox"):
            await connection.execute(QUERIES[query])
        await connection.execute(QUERIES["skip_fences"], LOST_FENCES)
        return str(await connection.fetchval(QUERIES["begin_epoch"]))
