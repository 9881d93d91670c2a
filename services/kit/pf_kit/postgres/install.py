"""Which life of which installation a service's data is."""

from __future__ import annotations

from dataclasses import dataclass

from pf_kit.postgres.queries import load_queries
from pf_kit.postgres.views import PostgresView

QUERIES = load_queries("pf_kit.postgres")


@dataclass(frozen=True, slots=True)
class Install:
    """Made with the service's schema."""

    epoch: str
    """The life of the data; a restore from a back-up starts a new one."""
    installation: str
    """Names the installation for as long as it lives."""
    secret: bytes
    """Key of digests and page tokens."""


async def read_install(view: PostgresView) -> Install:
    """The install row of the schema."""
    row = await view.fetchrow(QUERIES["install"])
    if row is None:
        raise LookupError("the table install is empty; was the schema migrated?")
    return Install(row["epoch"], row["installation"], row["secret"])
