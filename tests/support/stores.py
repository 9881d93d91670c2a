"""The stores of the queue service in memory and in Postgres, for tests that ask both."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files

import pytest

from pf_kit.clock import SystemClock
from pf_kit.memory import MemoryDatabase
from pf_kit.postgres.views import rows
from pf_kit.unit import Database
from pf_queue.accounts.memory import MemoryAccountStore
from pf_queue.accounts.postgres import PostgresAccountStore
from pf_queue.admission.memory import MemoryWorkloadStore
from pf_queue.admission.postgres import PostgresWorkloadStore
from pf_queue.clusters.memory import MemoryClusterStore, MemoryFlavourStore
from pf_queue.clusters.postgres import PostgresClusterStore, PostgresFlavourStore
from pf_queue.facts import encode
from pf_queue.parts import Stores
from pf_queue.quota.memory import MemoryQueueStore
from pf_queue.quota.postgres import PostgresQueueStore
from support.databases import migrated

KINDS = ("memory", "postgres")
MIGRATIONS = files("pf_queue") / "sql" / "migrations"


def memory_stores() -> tuple[MemoryDatabase, Stores]:
    database = MemoryDatabase(encode=encode, clock=SystemClock())
    return database, Stores(
        MemoryAccountStore(), MemoryClusterStore(), MemoryFlavourStore(), MemoryQueueStore(), MemoryWorkloadStore()
    )


def postgres_stores() -> Stores:
    return Stores(
        PostgresAccountStore(),
        PostgresClusterStore(),
        PostgresFlavourStore(),
        PostgresQueueStore(),
        PostgresWorkloadStore(),
    )


@asynccontextmanager
async def opened(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Database, Stores]]:
    """An empty database of the kind that the fixture's parameter names, and its stores."""
    if request.param == "memory":
        yield memory_stores()
        return
    async with migrated(request.getfixturevalue("queue_schema"), encode, schema="queue") as database:
        await emptied(database)
        yield database, postgres_stores()


async def emptied(database: Database) -> None:
    """Removes all rows of the service from a database in Postgres."""
    tables = "users, tokens, grants, workloads, workloads_over, decisions, queues, promises, flavours, nodes, clusters"
    await rows(database.newest).execute(f"truncate {tables}")
