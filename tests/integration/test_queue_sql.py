"""The SQL of clusters and the quota tree, as Postgres sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from enum import StrEnum

import asyncpg
import pytest

from pf_kit.postgres.queries import load_queries
from pf_queue.clusters.domain import ClusterStatus, ClusterType
from pf_queue.quota.domain import Isolation, OrderPolicy, PreemptionPolicy, QueueState, QuotaType

Row = dict[str, object]


@pytest.fixture
async def connection(queue_schema: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """Whatever a test does is undone, and what other tests have left is not there."""
    opened = await asyncpg.connect(queue_schema, server_settings={"search_path": "queue"})
    undone = opened.transaction()
    await undone.start()
    try:
        await opened.execute("truncate queues cascade")
        await opened.execute(
            "insert into clusters (name, type, description, endpoint, software_version, source, setting, namespaces,"
            " status, create_time, update_time)"
            " values ('c-sql', 'local', '', '', '', '', '', '{}', 'online', now(), now())"
        )
        yield opened
    finally:
        await undone.rollback()
        await opened.close()


@pytest.mark.parametrize("package", ["pf_queue.clusters", "pf_queue.quota"])
async def test_postgres_understands_every_query(connection: asyncpg.Connection[asyncpg.Record], package: str) -> None:
    for sql in load_queries(package).values():
        await connection.prepare(str(sql))


async def add_queue(connection: asyncpg.Connection[asyncpg.Record], **given: object) -> None:
    row: Row = {
        "name": "q",
        "cluster": "c-sql",
        "namespace": "default",
        "quota_type": "elasticQuota",
        "isolation": "logical",
        "parent": None,
        "min": "{}",
        "max": "{}",
        "lend_limit": "{}",
        "weight": 100,
        "priority": 0,
        "preemption_policy": "never",
        "order_policy": "strict_fifo",
        "max_jobs": 0,
        "max_per_user": "{}",
        "max_jobs_per_user": 0,
        "labels": "{}",
        "state": "open",
    } | given
    places = ", ".join(f"${number}" for number in range(1, len(row) + 1))
    names = ", ".join(row)
    await connection.execute(
        f"insert into queues ({names}, create_time, update_time) values ({places}, now(), now())", *row.values()
    )


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("quota_type", QuotaType),
        ("isolation", Isolation),
        ("preemption_policy", PreemptionPolicy),
        ("order_policy", OrderPolicy),
        ("state", QueueState),
    ],
)
async def test_the_schema_knows_the_words_of_queues(
    connection: asyncpg.Connection[asyncpg.Record], column: str, words: type[StrEnum]
) -> None:
    for number, word in enumerate(words):
        await add_queue(connection, **{"name": f"q{number}", column: word.value})
    with pytest.raises(asyncpg.CheckViolationError):
        await add_queue(connection, **{column: "nonsense"})


@pytest.mark.parametrize(("column", "words"), [("type", ClusterType), ("status", ClusterStatus)])
async def test_the_schema_knows_the_words_of_clusters(
    connection: asyncpg.Connection[asyncpg.Record], column: str, words: type[StrEnum]
) -> None:
    for word in words:
        await connection.execute(f"update clusters set {column} = $1 where name = 'c-sql'", word.value)
    with pytest.raises(asyncpg.CheckViolationError):
        await connection.execute(f"update clusters set {column} = 'nonsense' where name = 'c-sql'")


@pytest.mark.parametrize(
    "row",
    [
        {"name": "Bad"},
        {"name": "-"},
        {"weight": 0},
        {"priority": 1_001},
        {"max_jobs": -1},
        {"max_jobs_per_user": -1},
        {"name": "child", "parent": "top", "quota_type": "volcanoCapabilityQuota"},
        {"name": "child", "parent": "top", "isolation": "physical"},
    ],
)
async def test_rows_that_cannot_be_are_refused(connection: asyncpg.Connection[asyncpg.Record], row: Row) -> None:
    await add_queue(connection, name="top")
    with pytest.raises(asyncpg.CheckViolationError):
        await add_queue(connection, **row)


@pytest.mark.parametrize("row", [{"parent": "nowhere"}, {"cluster": "nowhere"}])
async def test_nothing_hangs_in_the_air(connection: asyncpg.Connection[asyncpg.Record], row: Row) -> None:
    with pytest.raises(asyncpg.ForeignKeyViolationError):
        await add_queue(connection, **row)


async def test_what_something_stands_on_stays(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    await add_queue(connection, name="top")
    await add_queue(connection, name="low", parent="top")
    for statement in ("delete from queues where name = 'top'", "delete from clusters where name = 'c-sql'"):
        with pytest.raises(asyncpg.ForeignKeyViolationError):
            async with connection.transaction():
                await connection.execute(statement)
