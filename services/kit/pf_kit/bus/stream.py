"""The stream of one service's events in Redis.

Redis may lose all of it at any time: whoever reads compares `Batch.previous` with its own place, and asks the owner for
what is missing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, cast

from google.protobuf.message import DecodeError
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import OutOfMemoryError, RedisError, ResponseError
from redis.typing import EncodableT, FieldT, KeyT, StreamIdT

from paddleflow.common.v1 import event_pb2
from paddleflow.problems import Unavailable
from pf_kit.bus.codec import Batch, batch_message, parse_batch
from pf_kit.bus.ports import Position

logger = logging.getLogger(__name__)

FIELD = b"batch"
KEPT_BATCHES = 500
"""About how many messages stay in the stream: a consumer that is further behind asks the owner. Of the longest messages
that a relay makes (`relay.BATCH_BYTES`) they take 64 MB; several services share one Redis."""
KEPT_SECONDS = 7 * 24 * 3600
"""After this time without an event the stream goes, as that of an epoch which is over."""
READ_BATCHES = 16
"""At most so many messages are read, and then applied, at once."""
PATIENCE = 2.0
"""Seconds that Redis may take: the bus is only the faster way, and nobody waits for it."""

Entries: TypeAlias = "list[tuple[bytes, list[tuple[bytes, dict[bytes, bytes]]]]]"
"""What XREAD returns: entries of streams, an entry being its id and its fields."""


class BusUnavailable(Unavailable):
    """The event bus does not answer."""


def open_redis(url: str, timeout: float = PATIENCE) -> Redis:
    """A client that gives up soon. It only times how long it connects: what it would do to time each command loses a
    cancellation that comes as the command is sent, before Python 3.12 (python/cpython#86296).
    """
    return Redis.from_url(
        url,
        protocol=2,
        socket_timeout=None,
        socket_connect_timeout=timeout,
        retry=Retry(NoBackoff(), 0),
        health_check_interval=0,
    )


class RedisStream:
    """One service's stream."""

    def __init__(self, redis: Redis, source: str, timeout: float = PATIENCE) -> None:
        self._redis = redis
        self._source = source
        self._timeout = timeout

    def key(self, epoch: str) -> str:
        """The stream of one life of the service."""
        return f"pf:{epoch}:{self._source}:events"

    async def publish(self, batches: Sequence[Batch]) -> None:
        """Puts batches on the bus under the place of their last event, so that Redis itself refuses repetitions.

        A Redis that is full would refuse them for ever. Then the stream begins anew with these batches, which readers
        notice as a gap.
        """
        refusals = await self._add(batches)
        if any(isinstance(refusal, OutOfMemoryError) for refusal in refusals):
            logger.warning("Redis is full, the stream begins anew", extra={"source": self._source})
            await self._forget(batches[-1].epoch)
            refusals = await self._add(batches)
        if refusals:
            raise BusUnavailable(f"cannot publish events: {refusals[0]}") from refusals[0]

    async def _add(self, batches: Sequence[Batch]) -> list[Exception]:
        """Sends batches, and returns why Redis refused some, other than that it has them."""
        async with self._redis.pipeline(transaction=False) as pipeline:
            for batch in batches:
                message: dict[FieldT, EncodableT] = {FIELD: batch_message(batch).SerializeToString()}
                await pipeline.xadd(self.key(batch.epoch), message, id=str(batch.last), maxlen=KEPT_BATCHES)
            await pipeline.expire(self.key(batches[-1].epoch), KEPT_SECONDS)
            async with self._answered("publish events"):
                replies: list[Any] = await pipeline.execute(raise_on_error=False)
        return [reply for reply in replies if isinstance(reply, Exception) and not _is_repetition(reply)]

    async def _forget(self, epoch: str) -> None:
        async with self._answered("make room for events"):
            await self._redis.delete(self.key(epoch))

    async def read(self, position: Position, patience: float) -> list[Batch]:
        """The batches that end after a place; waits for so many seconds if there are none."""
        streams: dict[KeyT, StreamIdT] = {self.key(position.epoch): str(position.cursor)}
        async with self._answered("read events", patience):
            found = await self._redis.xread(streams, count=READ_BATCHES, block=round(patience * 1000))
        return [_parsed(fields) for _, entries in cast("Entries", found) for _, fields in entries]

    @asynccontextmanager
    async def _answered(self, what: str, longer: float = 0.0) -> AsyncIterator[None]:
        """Inside, a Redis that fails, or that does not answer in time, is `BusUnavailable`."""
        try:
            async with asyncio.timeout(self._timeout + longer):
                yield
        except TimeoutError:
            raise BusUnavailable(f"cannot {what}: Redis does not answer") from None
        except (RedisError, OSError) as error:
            raise BusUnavailable(f"cannot {what}: {error}") from error


def _parsed(fields: dict[bytes, bytes]) -> Batch:
    try:
        return parse_batch(event_pb2.EventBatch.FromString(fields[FIELD]))
    except (KeyError, DecodeError) as error:
        raise BusUnavailable(f"cannot read events: somebody else has written to the stream: {error!r}") from error


def _is_repetition(reply: Exception) -> bool:
    """True if the stream has this batch, or a later one, already."""
    return isinstance(reply, ResponseError) and "equal or smaller" in str(reply)
