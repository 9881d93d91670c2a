"""The queue service for tests: its schema, migrated once per test process, and the service itself as a process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from pf_kit.postgres.migrate import migrate
from support.databases import fresh_database
from support.queue_process import QueueProcess
from support.queue_site import QueueSite, opened_site
from support.servers import PostgresServer, ValkeyServer
from support.stores import MIGRATIONS


@contextmanager
def own_database(server: PostgresServer) -> Iterator[str]:
    """The address of an empty database. Not on the loop of a test, which may be running while this is entered."""
    with ThreadPoolExecutor(1) as thread, asyncio.Runner() as runner:
        database = fresh_database(server)
        yield thread.submit(runner.run, database.__aenter__()).result()
        thread.submit(runner.run, database.__aexit__(None, None, None)).result()


@contextmanager
def own_service(
    postgres: PostgresServer, valkey: ValkeyServer, settings: Mapping[str, str] | None = None, *, program: bool = False
) -> Iterator[QueueProcess]:
    """A service that runs on a database of its own; begun as users begin it, if that is wanted."""
    with own_database(postgres) as dsn:
        process = QueueProcess(dsn, valkey.url, settings or {})
        process.program = process.program or program
        try:
            process.start()
            yield process
        finally:
            process.remove()


@pytest.fixture(scope="session")
def queue_schema(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of a database that has the service's schema. Tests empty its tables for themselves."""
    with own_database(postgres_server) as dsn, ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, migrate(dsn, "queue", [MIGRATIONS])).result()
        yield dsn


@pytest.fixture(scope="session")
def queue_process(postgres_server: PostgresServer, valkey_server: ValkeyServer) -> Iterator[QueueProcess]:
    """The service that all tests of a process share; each makes things under names of its own."""
    with own_service(postgres_server, valkey_server) as process:
        yield process


@pytest.fixture
async def site(queue_process: QueueProcess) -> AsyncIterator[QueueSite]:
    """The running service, as root and others call it, with a cluster of the test's own."""
    async with opened_site(queue_process) as opened:
        yield opened
