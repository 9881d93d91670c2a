"""Servers for tests: one of each per test process, started when the first test asks, and private ones to break."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TypeVar

import pytest

from support.databases import fresh_database
from support.servers import PostgresServer, ValkeyServer

Server = TypeVar("Server", PostgresServer, ValkeyServer)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The Postgres that all tests of a process share; each takes a database of its own from `fresh_dsn`."""
    yield from _running(PostgresServer())


@pytest.fixture(scope="session")
def breakable_postgres() -> Iterator[PostgresServer]:
    """The Postgres behind `own_postgres`: making one takes longer than mending it."""
    yield from _running(PostgresServer())


@pytest.fixture
def own_postgres(breakable_postgres: PostgresServer) -> Iterator[PostgresServer]:
    """A Postgres that the test may stop and kill."""
    yield breakable_postgres
    breakable_postgres.start()


@pytest.fixture(scope="session")
def valkey_server() -> Iterator[ValkeyServer]:
    """The Valkey that all tests of a process share; keys carry an epoch, so that nobody meets another's."""
    yield from _running(ValkeyServer())


@pytest.fixture
def own_valkey() -> Iterator[ValkeyServer]:
    """A Valkey that the test may stop and kill."""
    yield from _running(ValkeyServer())


@pytest.fixture
async def fresh_dsn(postgres_server: PostgresServer) -> AsyncIterator[str]:
    """An empty database."""
    async with fresh_database(postgres_server) as dsn:
        yield dsn


def _running(server: Server) -> Iterator[Server]:
    server.start()
    yield server
    server.remove()
