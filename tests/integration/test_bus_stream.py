"""The stream in Redis: what is published comes back once, and a Redis that is away, hangs or forgets is noticed."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from redis.asyncio import Redis

from pf_kit.bus import stream
from pf_kit.bus.codec import Batch
from pf_kit.bus.ports import Position
from pf_kit.bus.stream import BusUnavailable, RedisStream, open_redis
from pf_kit.events import BEGINNING, Cursor, Event, Fact
from support.servers import ValkeyServer

TIME = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
async def redis(valkey_server: ValkeyServer) -> AsyncIterator[Redis]:
    client = open_redis(valkey_server.url)
    yield client
    await client.aclose()


@pytest.fixture
async def own_redis(own_valkey: ValkeyServer) -> AsyncIterator[Redis]:
    client = open_redis(own_valkey.url)
    yield client
    await client.aclose()


def batch(epoch: str, start: int, end: int, payload: bytes = b"payload") -> Batch:
    """The events from number `start` to below `end`."""
    fact = Fact("t", "s", 1, payload)
    events = [Event(Cursor(100 + number, number), fact, "", TIME) for number in range(start, end)]
    return Batch(epoch, Cursor(99 + start, start - 1), events)


def fresh_epoch() -> str:
    return str(uuid.uuid4())


async def read(bus: RedisStream, epoch: str, place: Cursor = BEGINNING, patience: float = 0.01) -> list[Batch]:
    return await bus.read(Position(epoch, place), patience)


async def test_batches_come_back_in_order(redis: Redis) -> None:
    bus, epoch = RedisStream(redis, "queue"), fresh_epoch()
    sent = [batch(epoch, 1, 4), batch(epoch, 4, 5), batch(epoch, 5, 9)]
    await bus.publish(sent)
    assert await read(bus, epoch) == sent
    assert await read(bus, epoch, sent[0].last) == sent[1:]
    assert await read(bus, epoch, sent[1].events[0].cursor) == sent[2:]
    assert await read(bus, epoch, sent[2].last) == []


async def test_a_place_inside_a_batch_brings_the_whole_batch(redis: Redis) -> None:
    bus, epoch = RedisStream(redis, "queue"), fresh_epoch()
    await bus.publish([batch(epoch, 1, 9)])
    assert await read(bus, epoch, Cursor(104, 4)) == [batch(epoch, 1, 9)]


async def test_what_is_on_the_bus_already_is_not_put_there_again(redis: Redis) -> None:
    bus, epoch = RedisStream(redis, "queue"), fresh_epoch()
    await bus.publish([batch(epoch, 1, 4), batch(epoch, 4, 6)])
    await bus.publish([batch(epoch, 1, 4), batch(epoch, 4, 6), batch(epoch, 6, 7)])
    await bus.publish([batch(epoch, 1, 6)])
    assert await read(bus, epoch) == [batch(epoch, 1, 4), batch(epoch, 4, 6), batch(epoch, 6, 7)]


async def test_services_and_epochs_are_strangers(redis: Redis) -> None:
    epoch = fresh_epoch()
    await RedisStream(redis, "queue").publish([batch(epoch, 1, 4)])
    assert await read(RedisStream(redis, "job"), epoch) == []
    assert await read(RedisStream(redis, "queue"), fresh_epoch()) == []


async def test_a_reader_is_woken(redis: Redis) -> None:
    bus, epoch = RedisStream(redis, "queue"), fresh_epoch()
    reading = asyncio.create_task(read(bus, epoch, patience=20.0))
    await asyncio.sleep(0.05)
    await bus.publish([batch(epoch, 1, 2)])
    async with asyncio.timeout(10):
        assert await reading == [batch(epoch, 1, 2)]


async def test_the_stream_keeps_so_much_for_so_long(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "KEPT_BATCHES", 100)
    bus, epoch = RedisStream(redis, "queue"), fresh_epoch()
    await bus.publish([batch(epoch, number, number + 1) for number in range(1, 1001)])
    assert 100 <= await redis.xlen(bus.key(epoch)) < 400
    assert 0 < await redis.ttl(bus.key(epoch)) <= stream.KEPT_SECONDS
    (first, *_) = await read(bus, epoch)
    assert first.previous > BEGINNING, "whoever missed the start can tell"


async def test_publishing_goes_on_after_redis_forgot_everything(own_redis: Redis) -> None:
    bus, epoch = RedisStream(own_redis, "queue", timeout=0.3), fresh_epoch()
    await bus.publish([batch(epoch, 1, 4)])
    await own_redis.flushall()
    await bus.publish([batch(epoch, 4, 6)])
    assert await read(bus, epoch, batch(epoch, 1, 4).last) == [batch(epoch, 4, 6)]


async def test_redis_that_is_away_is_noticed_at_once_and_found_again(
    own_valkey: ValkeyServer, own_redis: Redis
) -> None:
    bus, epoch = RedisStream(own_redis, "queue", timeout=20.0), fresh_epoch()
    await bus.publish([batch(epoch, 1, 2)])
    own_valkey.kill()
    begun = time.monotonic()
    with pytest.raises(BusUnavailable, match="cannot publish"):
        await bus.publish([batch(epoch, 2, 3)])
    with pytest.raises(BusUnavailable, match="cannot read"):
        await read(bus, epoch)
    assert time.monotonic() - begun < 10
    own_valkey.start()
    await bus.publish([batch(epoch, 2, 3)])
    assert await read(bus, epoch) == [batch(epoch, 2, 3)]


async def test_redis_that_hangs_is_noticed_soon_and_goes_on_unconfused(
    own_valkey: ValkeyServer, own_redis: Redis
) -> None:
    bus, epoch = RedisStream(own_redis, "queue", timeout=0.3), fresh_epoch()
    await bus.publish([batch(epoch, 1, 2)])
    own_valkey.freeze()
    begun = time.monotonic()
    with pytest.raises(BusUnavailable):
        await bus.publish([batch(epoch, 2, 3)])
    with pytest.raises(BusUnavailable):
        await read(bus, epoch)
    assert time.monotonic() - begun < 3.0
    own_valkey.thaw()
    await bus.publish([batch(epoch, 2, 3), batch(epoch, 3, 4)])
    assert await read(bus, epoch) == [batch(epoch, 1, 2), batch(epoch, 2, 3), batch(epoch, 3, 4)]


async def test_a_publication_that_is_cancelled_anywhere_confuses_nobody(redis: Redis) -> None:
    bus, epoch = RedisStream(redis, "queue"), fresh_epoch()
    for number in range(1, 40):
        publishing = asyncio.create_task(bus.publish([batch(epoch, number, number + 1)]))
        for _ in range(number % 12):
            await asyncio.sleep(0)
        publishing.cancel()
        await asyncio.wait([publishing])
        await bus.publish([batch(epoch, number, number + 1)])
    found: list[Batch] = []
    while more := await read(bus, epoch, found[-1].last if found else BEGINNING):
        found.extend(more)
    assert found == [batch(epoch, number, number + 1) for number in range(1, 40)]


async def test_redis_that_refuses_is_as_if_it_were_away(redis: Redis) -> None:
    bus, epoch = RedisStream(redis, "queue"), fresh_epoch()
    await redis.set(bus.key(epoch), "no stream")
    with pytest.raises(BusUnavailable, match="WRONGTYPE"):
        await bus.publish([batch(epoch, 1, 2)])
    with pytest.raises(BusUnavailable, match="WRONGTYPE"):
        await read(bus, epoch)


async def test_a_redis_that_is_full_is_emptied_of_the_stream(own_redis: Redis) -> None:
    bus, epoch = RedisStream(own_redis, "queue", timeout=0.3), fresh_epoch()
    room = (await own_redis.info("memory"))["used_memory"] + 2_000_000
    await own_redis.config_set("maxmemory", room)
    await own_redis.config_set("maxmemory-policy", "noeviction")
    for number in range(1, 61):
        await bus.publish([batch(epoch, number, number + 1, bytes(100_000))])
    kept = await own_redis.xlen(bus.key(epoch))
    assert 0 < kept < 30, "all of them had no room"
    (newest, *_) = await read(bus, epoch, Cursor(159, 59))
    assert newest.last == Cursor(160, 60)
    (first, *_) = await read(bus, epoch)
    assert first.previous > BEGINNING, "whoever missed the start can tell"


async def test_a_redis_that_others_have_filled_is_as_if_it_were_away(own_redis: Redis) -> None:
    bus, epoch = RedisStream(own_redis, "queue", timeout=0.3), fresh_epoch()
    await bus.publish([batch(epoch, 1, 2)])
    await own_redis.config_set("maxmemory", 1)
    with pytest.raises(BusUnavailable, match="cannot publish events"):
        await bus.publish([batch(epoch, 2, 3)])
    await own_redis.config_set("maxmemory", 0)
    await bus.publish([batch(epoch, 2, 3)])
    assert await read(bus, epoch) == [batch(epoch, 2, 3)]


@pytest.mark.parametrize("entry", [{"batch": b"\xff\xff"}, {"else": b""}])
async def test_what_somebody_else_wrote_is_as_if_redis_were_away(redis: Redis, entry: dict[str, bytes]) -> None:
    bus, epoch = RedisStream(redis, "queue"), fresh_epoch()
    await redis.xadd(bus.key(epoch), entry, id="101-1")  # type: ignore[arg-type]  # the stubs want one exact type
    with pytest.raises(BusUnavailable, match="somebody else has written"):
        await read(bus, epoch)
    await bus.publish([batch(epoch, 2, 3)])
    assert await read(bus, epoch, Cursor(101, 1)) == [batch(epoch, 2, 3)], "and it is passed over"


@pytest.mark.parametrize("turns", range(40))
async def test_publishing_never_survives_its_end(redis: Redis, turns: int) -> None:
    """However far it has come. Before Python 3.12 `asyncio.wait_for`, which the client uses, forgets some."""
    bus, epoch = RedisStream(redis, "queue"), fresh_epoch()

    async def work() -> None:
        await bus.publish([batch(epoch, 1, 2)])
        await asyncio.Event().wait()

    task = asyncio.create_task(work())
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task], timeout=1.0)
    assert task.cancelled()
    await bus.publish([batch(epoch, 1, 3)])
