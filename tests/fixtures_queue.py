"""The queue service for tests: its schema, migrated once per test process, and the service itself as a process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from pf_kit.postgres.migrate import migrate
from support.databases import fresh_database
from support.queue_process import QueueProcess
from support.queue_site import QueueSite, opened_site
from support.servers import PostgresServer, ValkeyServer
from support.stores import MIGRATIONS


@pytest.fixture(scope="session")
def queue_schema(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of a database that has the service's schema. Tests empty its tables for themselves."""
    with asyncio.Runner() as runner:
        database = fresh_database(postgres_server)
        dsn = runner.run(database.__aenter__())
        runner.run(migrate(dsn, "queue", [MIGRATIONS]))
        yield dsn
        runner.run(database.__aexit__(None, None, None))


@pytest.fixture(scope="session")
def queue_process(postgres_server: PostgresServer, valkey_server: ValkeyServer) -> Iterator[QueueProcess]:
    """The service that all tests of a process share; each makes things under names of its own."""
    with asyncio.Runner() as runner:
        database = fresh_database(postgres_server)
        process = QueueProcess(runner.run(database.__aenter__()), valkey_server.url)
        process.start()
        yield process
        process.remove()
        runner.run(database.__aexit__(None, None, None))


@pytest.fixture
async def site(queue_process: QueueProcess) -> AsyncIterator[QueueSite]:
    """The running service, as root and others call it, with a cluster of the test's own."""
    async with opened_site(queue_process) as opened:
        yield opened
