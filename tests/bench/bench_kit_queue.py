"""What a service does in a second, over a real socket, with a real Postgres behind it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import asyncpg
import grpc
import psutil

from bench.bench_kit_load import Method, drive, processor_seconds
from paddleflow.queue.v1 import queue_pb2
from pf_kit.ids import new_id
from support.figures import Figure
from support.kit_client import bearer
from support.queue_process import ROOT_PASSWORD, QueueProcess
from support.servers import PostgresServer, ValkeyServer

Request: TypeAlias = Callable[[int], bytes]

READS = 6000
WRITES = 1500
BARE = 1500
IN_FLIGHT = 32
QUEUE = "default-queue"
"""The one that every installation begins with."""


@dataclass(frozen=True)
class Site:
    """A queue service, its databases, and root's way in."""

    postgres: PostgresServer
    process: QueueProcess
    pid: int
    """Of the service."""
    channel: grpc.Channel
    metadata: tuple[tuple[str, str], ...]


@contextmanager
def site(settings: Mapping[str, str]) -> Iterator[Site]:
    postgres, valkey = PostgresServer(durable=True), ValkeyServer()
    postgres.start()
    valkey.start()
    process = QueueProcess(postgres.dsn(), valkey.url, {"PF_QUEUE_LOG_LEVEL": "warning", **settings})
    try:
        process.start()
        metadata = bearer(process.log_in("root", ROOT_PASSWORD))
        with grpc.insecure_channel(process.address) as channel:
            (pid,) = (child.pid for child in psutil.Process().children() if "pf_queue" in child.cmdline())
            yield Site(postgres, process, pid, channel, metadata)
    finally:
        process.remove()
        valkey.remove()
        postgres.remove()


def figures() -> list[Figure]:
    with site({}) as opened:
        bare_reads, bare_writes = asyncio.run(bare(opened.postgres.dsn()))
        return [
            *rate(opened, "reads (GetQueue)", "GetQueue", read, READS, bare_reads),
            *rate(opened, "idempotent writes (UpdateQueue)", "UpdateQueue", write, WRITES, bare_writes),
        ]


def read(_: int) -> bytes:
    return queue_pb2.GetQueueRequest(name=QUEUE).SerializeToString()


def write(number: int) -> bytes:
    request = queue_pb2.UpdateQueueRequest(queue=queue_pb2.Queue(name=QUEUE, priority=number % 1000))
    request.update_mask.paths.append("priority")
    request.request_id = new_id()
    return request.SerializeToString()


def rate(site: Site, what: str, name: str, request: Request, calls: int, bare: float) -> list[Figure]:
    method = Method(site.channel, f"/paddleflow.queue.v1.QueueService/{name}", site.metadata, request)
    drive(method, calls // 10, IN_FLIGHT)
    before = processor_seconds(site.pid)
    seconds = drive(method, calls, IN_FLIGHT)
    spent = processor_seconds(site.pid) - before
    return [
        Figure(f"{what}, 32 at a time", calls / seconds, "calls/s", bare),
        Figure(f"{what}, processor time of the service", spent / calls * 1e6, "µs/call"),
    ]


async def bare(dsn: str) -> tuple[float, float]:
    """Reads and transactions a second straight from Postgres, by as many connections as the service has."""
    async with asyncpg.create_pool(dsn, min_size=8, max_size=8) as pool:
        await pool.execute("create table bench (name text primary key, number int)")
        await pool.execute("insert into bench values ('a', 0)")

        async def each(statement: str, count: int) -> None:
            for _ in range(count):
                await pool.execute(statement)

        async def per_second(statement: str) -> float:
            begun = time.perf_counter()
            await asyncio.gather(*(each(statement, BARE // 8) for _ in range(8)))
            return BARE / (time.perf_counter() - begun)

        reads = await per_second("select * from bench where name = 'a'")
        return reads, await per_second("update bench set number = number + 1 where name = 'a'")
