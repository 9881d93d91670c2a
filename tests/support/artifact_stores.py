"""Each store of artifacts, over an empty database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files

import pytest

from pf_kit.clock import SystemClock
from pf_kit.events import Fact
from pf_kit.memory import MemoryDatabase
from pf_kit.unit import Database
from pf_pipeline.artifacts.memory import MemoryArtifactStore
from pf_pipeline.artifacts.postgres import PostgresArtifactStore
from pf_pipeline.artifacts.store import ArtifactStore
from support.databases import fresh_database, migrated

MIGRATIONS = files("pf_pipeline") / "sql" / "migrations"
Kept = tuple[Database, ArtifactStore]


def no_events(event: object) -> Fact:
    raise TypeError(event)


@asynccontextmanager
async def opened_store(request: pytest.FixtureRequest) -> AsyncIterator[Kept]:
    """The store that a fixture with the parameters "memory" and "postgres" is to give."""
    if request.param == "memory":
        yield MemoryDatabase(encode=no_events, clock=SystemClock()), MemoryArtifactStore()
        return
    async with (
        fresh_database(request.getfixturevalue("postgres_server")) as dsn,
        migrated(dsn, no_events, schema="pipeline", folders=[MIGRATIONS]) as database,
    ):
        yield database, PostgresArtifactStore()
