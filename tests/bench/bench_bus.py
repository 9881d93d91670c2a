"""What the event bus and the changes that feed it cost on this machine; `make bench-kit` prints it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import asyncpg
import uvloop
from redis.asyncio import Redis

from pf_kit.bus.consumer import Consumer
from pf_kit.bus.relay import BATCH_EVENTS, READ_EVENTS, Relay
from pf_kit.bus.source import LocalEventSource
from pf_kit.bus.stream import RedisStream, open_redis
from pf_kit.clock import SystemClock
from pf_kit.events import Event
from pf_kit.ids import new_id
from pf_kit.leases import Leadership, Lease
from pf_kit.postgres.database import PostgresDatabase
from pf_kit.postgres.leases import PostgresLeases
from pf_kit.postgres.positions import PostgresRelayMark
from pf_kit.postgres.views import rows
from pf_kit.unit import AuditEntry, Change, Once
from support.databases import fresh_database
from support.figures import Figure, percentile
from support.ledger import ledger_database
from support.probe import Stored
from support.servers import PostgresServer, ValkeyServer
from support.waiting import until

BACKLOG = 40_000
PACED = 600
RATE = 200.0
"""Events a second while latency is measured: a busy installation, far from saturation."""
IDLE_SECONDS = 5.0


@dataclass
class Arrivals:
    """A handler that only notes when events come."""

    latencies: list[float] = field(default_factory=list)
    count: int = 0

    def heeds(self, event: Event) -> bool:
        return True

    def locks(self, events: Sequence[Event]) -> Sequence[str]:
        return ()

    async def apply(self, change: Change, events: Sequence[Event]) -> None:
        now = time.time()
        self.count += len(events)
        self.latencies += [now - float(event.fact.subject.removeprefix("item/")) for event in events]

    async def gather(self) -> None:
        return None

    async def resync(self, change: Change, state: None) -> None:
        return None


@dataclass
class Site:
    """An owner of events and a consumer of them, in one process."""

    dsn: str
    owner: PostgresDatabase
    redis: Redis
    arrivals: Arrivals
    relay: Relay
    consumer: Consumer[None]


@asynccontextmanager
async def site() -> AsyncIterator[Site]:
    postgres, valkey = PostgresServer(durable=True), ValkeyServer()
    try:
        postgres.start()
        valkey.start()
        async with (
            fresh_database(postgres) as dsn,
            ledger_database(dsn, "owner") as owner,
            ledger_database(dsn, "other") as other,
            open_redis(valkey.url) as redis,
        ):
            clock, bus, arrivals = SystemClock(), RedisStream(redis, "bench"), Arrivals()
            relay = Relay(owner.log, PostgresRelayMark(rows(owner.newest)), bus, clock)
            consumer = Consumer("bench", "bench", other, bus, LocalEventSource(owner.log), arrivals, clock)
            yield Site(dsn, owner, redis, arrivals, relay, consumer)
    finally:
        valkey.remove()
        postgres.remove()


@asynccontextmanager
async def running(*work: Awaitable[None]) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def latency(site: Site) -> list[Figure]:
    """From just before the commit to the consumer's handler."""
    async with running(site.relay.run(), site.consumer.run()):
        await asyncio.sleep(0.5)
        for _ in range(PACED):
            async with site.owner.change("a") as change:
                change.emit(Stored(str(time.time()), 1))
            await asyncio.sleep(1 / RATE)
        await until(lambda: site.arrivals.count >= PACED)
    bare = await bare_latency(site)
    found = [seconds * 1000 for seconds in site.arrivals.latencies[-PACED:]]
    return [
        Figure("outbox to consumer, p50", percentile(found, 0.5), "ms", percentile(bare, 0.5), at_most=5.0),
        Figure("outbox to consumer, p99", percentile(found, 0.99), "ms", percentile(bare, 0.99), at_most=50.0),
    ]


async def bare_latency(site: Site) -> list[float]:
    """The least that must happen: a commit, an entry into a stream, and its way to a reader that waits for it."""
    connection = await asyncpg.connect(site.dsn)
    await connection.execute("create table bare (payload text)")
    found = []
    for _ in range(PACED // 3):
        begun = time.perf_counter()
        reading = asyncio.ensure_future(read_next(site.redis))
        await asyncio.sleep(0)
        await connection.execute("insert into bare values ('x')")
        await site.redis.xadd("bare", {"payload": "x"})
        await reading
        found.append((time.perf_counter() - begun) * 1000)
        await asyncio.sleep(1 / RATE)
    await connection.close()
    return found


async def read_next(redis: Redis) -> None:
    await redis.xread({"bare": "$"}, block=1000)


async def throughput(site: Site) -> list[Figure]:
    """How fast a backlog goes out, and how fast it is taken in."""
    for _ in range(BACKLOG // 1000):
        async with site.owner.change("a") as change:
            for number in range(1000):
                change.emit(Stored(f"{time.time()}", number))
    published, taken = site.relay.stats.published + BACKLOG, site.arrivals.count + BACKLOG
    relayed, relay_cpu = await timed(site.relay.run(), lambda: site.relay.stats.published >= published)
    consumed, consumer_cpu = await timed(site.consumer.run(), lambda: site.arrivals.count >= taken)
    bare = await bare_relay(site)
    return [
        Figure("relay, backlog", BACKLOG / relayed, "events/s", bare, at_least=40_000),
        Figure("relay, processor time", relay_cpu / BACKLOG * 1e6, "µs/event"),
        Figure("consumer, backlog", BACKLOG / consumed, "events/s"),
        Figure("consumer, processor time", consumer_cpu / BACKLOG * 1e6, "µs/event"),
    ]


async def timed(work: Awaitable[None], done: Callable[[], bool]) -> tuple[float, float]:
    """Seconds, and seconds of this process' processor time, until it is done."""
    begun, cpu = time.perf_counter(), time.process_time()
    async with running(work):
        await until(done, 60.0)
        return time.perf_counter() - begun, time.process_time() - cpu


async def bare_relay(site: Site) -> float:
    """Events a second that go from a table to a stream as they are."""
    connection = await asyncpg.connect(site.dsn)
    begun = time.perf_counter()
    for _ in range(BACKLOG // READ_EVENTS):
        found = await connection.fetch("select * from owner.outbox order by xid, id limit $1", READ_EVENTS)
        async with site.redis.pipeline(transaction=False) as pipeline:
            for start in range(0, len(found), BATCH_EVENTS):
                payload = b"".join(row["payload"] for row in found[start : start + BATCH_EVENTS])
                await pipeline.xadd("bare-relay", {"payload": payload})
            await pipeline.execute()
    await connection.close()
    return BACKLOG / (time.perf_counter() - begun)


async def changes(site: Site) -> list[Figure]:
    """Changes with a row, an event, an audit record and a remembered reply."""
    entry = AuditEntry("user/a", "", "/bench", "item/a", "peer", "id")

    async def change(worker: int) -> None:
        once = Once("user/a", "/bench", new_id(), b"digest")
        async with site.owner.change(f"lock-{worker}") as change:
            await change.replay(once)
            change.emit(Stored(str(time.time()), 1))
            change.audit(entry)
            change.remember(once, b"reply")

    cpu = time.process_time()
    alone = await rate(change, 1, 400)
    cpu = (time.process_time() - cpu) / 400
    return [
        Figure("changes, one after the other", alone, "changes/s", await bare_changes(site, 1)),
        Figure("changes, eight at once", await rate(change, 8, 100), "changes/s", await bare_changes(site, 8)),
        Figure("changes, processor time", cpu * 1e6, "µs/change"),
    ]


async def bare_changes(site: Site, workers: int) -> float:
    """The same without the kit: transactions of two statements."""
    async with asyncpg.create_pool(site.dsn, min_size=workers, max_size=workers) as pool:

        async def change(_: int) -> None:
            async with pool.acquire() as connection, connection.transaction():
                await connection.fetchval("select pg_advisory_xact_lock(1) from (select 1) as one where false")
                await connection.execute("insert into bare values ('x')")

        return await rate(change, workers, 400 // workers)


async def rate(one: Callable[[int], Awaitable[None]], workers: int, each: int) -> float:
    """How many a second, by so many workers."""

    async def work(worker: int) -> None:
        for _ in range(each):
            await one(worker)

    begun = time.perf_counter()
    await asyncio.gather(*(work(worker) for worker in range(workers)))
    return workers * each / (time.perf_counter() - begun)


async def idle(site: Site) -> list[Figure]:
    """What a relay, a consumer and a leader cost while nothing happens."""
    leases = PostgresLeases(rows(site.owner.newest))
    leader = Leadership(leases, name="bench", holder="a", address="", clock=SystemClock())

    async def lead(_: Lease) -> None:
        await site.relay.run()

    async with running(leader.run(lead), site.consumer.run()):
        await asyncio.sleep(1.0)
        cpu = time.process_time()
        await asyncio.sleep(IDLE_SECONDS)
        spent = time.process_time() - cpu
    return [Figure("idle: leader, relay and consumer", spent / IDLE_SECONDS * 100, "% of a core", at_most=1.0)]


async def measure() -> list[Figure]:
    """All figures, one after the other."""
    async with site() as opened:
        return [figure for part in (latency, throughput, changes, idle) for figure in await part(opened)]


def figures() -> list[Figure]:
    """All figures of the event bus, with the event loop that services use."""
    return uvloop.run(measure())
