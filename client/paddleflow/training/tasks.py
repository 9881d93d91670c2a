"""The loop of a trainer that uses asyncio, with a task that keeps its lease alive."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar, Unpack

from paddleflow.aio.datasets import Datasets
from paddleflow.aio.session import Session
from paddleflow.channel import open_channel
from paddleflow.models.shards import LeasedShard, LeaseOutcome, ShardLease, ShardWait
from paddleflow.problems import Problem, Unauthenticated
from paddleflow.training.environment import own_connection
from paddleflow.training.shard import LEFT, Shard, ShardOptions, Verdict, plan_of, too_old
from paddleflow.training.trying import LAST_WORDS, Trying

R = TypeVar("R")


async def async_shards(name: str, **options: Unpack[ShardOptions]) -> AsyncGenerator[Shard, None]:
    """As `shards`, for programs with asyncio. Put it into `contextlib.aclosing` if the loop may be left early."""
    async with _opened() as datasets:
        trainer, plan = _Trainer(datasets, options), plan_of(name, options)
        await trainer.insist(lambda: datasets.open("", plan, options.get("items", ())))
        async with _renewing(datasets, options, plan.lease.total_seconds() / 3) as held:
            done: ShardLease | None = None
            while leased := await trainer.next(name, done):
                # Kept alive until the service knows that it is done.
                held.clear()
                shard = held[leased.lease] = Shard(leased, time.monotonic())
                try:
                    yield shard
                except GeneratorExit:
                    with suppress(Problem):
                        await trainer.leave(shard)
                    raise
                done = await trainer.settle(shard)


class _Trainer:
    """Asks as long as it takes."""

    def __init__(self, datasets: Datasets, options: ShardOptions) -> None:
        self._datasets = datasets
        self._options = options

    async def next(self, name: str, done: ShardLease | None) -> LeasedShard | None:
        """The next shard, once there is one; None if there will be none. The one before is done, if it is given."""
        while True:
            request = uuid.uuid4().hex
            outcome = await self.insist(lambda: self._lease(name, done, request))  # noqa: B023 - called at once
            match outcome:
                case LeasedShard():
                    return outcome
                case ShardWait(wait):
                    done = None
                    await asyncio.sleep(wait.total_seconds() * (0.5 + _chance() / 2))
                case _:
                    return None

    async def settle(self, shard: Shard) -> ShardLease | None:
        """Gives back a shard that is not done; returns the lease of one that is."""
        shard.closed, verdict = True, shard.verdict
        if verdict is None:
            return shard.lease
        await self.insist(lambda: self._give_back(shard.lease, verdict))
        return None

    async def leave(self, shard: Shard) -> None:
        """Gives a shard back in a hurry."""
        verdict = shard.verdict or Verdict(failed=True, reason=LEFT)
        await self.insist(lambda: self._give_back(shard.lease, verdict), Trying(time.monotonic() + LAST_WORDS))

    async def insist(self, call: Callable[[], Awaitable[R]], trying: Trying | None = None) -> R:
        """The answer, once there is one. Raises problems that will not go away."""
        trying = trying or Trying.patiently(time.monotonic(), self._options)
        while True:
            try:
                return await call()
            except Problem as problem:
                await asyncio.sleep(trying.delay(problem, time.monotonic(), _chance()))
                trying = trying.failed()

    async def _lease(self, name: str, done: ShardLease | None, request: str) -> LeaseOutcome:
        wanted = self._options.get("pass_number", 0)
        return await self._datasets.lease(name, pass_number=wanted, finished=done, request_id=request)

    async def _give_back(self, lease: ShardLease, verdict: Verdict) -> bool:
        return await self._datasets.give_back(lease, failed=verdict.failed, reason=verdict.reason)


@asynccontextmanager
async def _opened() -> AsyncIterator[Datasets]:
    connection = own_connection(os.environ)
    async with open_channel(connection.address, connection.tls) as channel:
        yield Datasets(Session(channel, connection), channel)


@asynccontextmanager
async def _renewing(datasets: Datasets, options: ShardOptions, pause: float) -> AsyncIterator[dict[ShardLease, Shard]]:
    """Keeps alive the leases that are put into what it gives."""
    held: dict[ShardLease, Shard] = {}

    async def run() -> None:
        while True:
            await asyncio.sleep(pause)
            kept = {lease: shard for lease, shard in held.items() if not too_old(shard, options, time.monotonic())}
            if kept:
                await _renew(datasets, kept)

    task = asyncio.create_task(run())
    try:
        yield held
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _renew(datasets: Datasets, held: dict[ShardLease, Shard]) -> None:
    try:
        good = set(await datasets.renew(list(held)))
    except Unauthenticated:
        good = set()
    except Problem:
        # The service is away. It keeps what it knows, and is asked again soon.
        return
    for lease, shard in held.items():
        shard.lost = not shard.closed and lease not in good


def _chance() -> float:
    return secrets.SystemRandom().random()
