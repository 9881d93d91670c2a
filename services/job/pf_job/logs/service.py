"""Tells logs of jobs: one replica after another, or all that are followed by turns."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing, suppress

from paddleflow.problems import NotFound, ShuttingDown
from pf_job.logs.choosing import base, chosen, is_there
from pf_job.logs.domain import Choice, Chunk, Info, Known, Query, Standing
from pf_job.logs.following import LOOK, Following
from pf_job.logs.reading import Reader
from pf_job.runtimes.port import ReplicaKey, Runtime
from pf_kit.clock import Clock

COUNTED = 2**20
"""Bytes of a log whose lines are counted."""

Look = Callable[[], Awaitable[Standing]]
"""Where the job stands. Raises whatever keeps the caller from knowing it."""


class Logs:
    """The logs that the runtimes of the clusters keep."""

    def __init__(self, runtimes: Mapping[str, Runtime], clock: Clock, closing: asyncio.Event) -> None:
        """Once it is `closing`, whoever reads is told to go on elsewhere."""
        self._runtimes = runtimes
        self._clock = clock
        self._closing = closing

    async def read(self, query: Query, look: Look) -> AsyncGenerator[Chunk, None]:
        """What is asked for, as it can be told. Raises what ReadLog's contract lists."""
        standing = await look()
        attempt = _attempt(query.choice, query.positions, standing)
        if query.follow:
            following = Following(query, attempt, lambda key: self._reader(query, key), self._clock, self._closing)
            chunks = following.run(standing, look)
        else:
            replicas = chosen(query.choice, standing, attempt, query.positions)
            chunks = self._read_each(query, look, [each.key for each in replicas])
        async with aclosing(chunks):
            async for chunk in chunks:
                yield chunk

    def replicas(self, choice: Choice, standing: Standing) -> Sequence[Known]:
        """The replicas that are meant. Raises NotFound if there are none."""
        return chosen(choice, standing, _attempt(choice, (), standing), ())

    async def info(self, key: ReplicaKey, *, count: bool) -> Info | None:
        """How much there is of one log, with its lines if they are to be counted and few; None if there is no log."""
        for runtime in self._runtimes.values():
            with suppress(NotFound):
                return await _info(runtime, key, count=count)
        return None

    async def _read_each(self, query: Query, look: Look, keys: Sequence[ReplicaKey]) -> AsyncGenerator[Chunk, None]:
        due = self._clock.monotonic() + LOOK
        for key in keys:
            reader = await self._reader(query, key)
            while reader is not None and not reader.done:
                for chunk in await reader.tell(whole=False, over=False):
                    yield chunk
                if self._closing.is_set():
                    raise ShuttingDown
                if self._clock.monotonic() > due:
                    await look()
                    due = self._clock.monotonic() + LOOK
                    for chunk in reader.progress():
                        yield chunk

    async def _reader(self, query: Query, key: ReplicaKey) -> Reader | None:
        """Begins to read a log; None if there is none."""
        for runtime in self._runtimes.values():
            reader = Reader(runtime, key, query, self._clock)
            with suppress(NotFound):
                await reader.begin()
                return reader
        return None


async def _info(runtime: Runtime, key: ReplicaKey, *, count: bool) -> Info:
    last = await runtime.read_log(key, -1, 1)
    size = last.offset + len(last.data)
    lines = None
    if count and size - last.kept_from <= COUNTED:
        data = (await runtime.read_log(key, last.kept_from, COUNTED)).data
        lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    return Info(key, size, last.kept_from, last.end, lines)


def _attempt(choice: Choice, positions: Collection[ReplicaKey], standing: Standing) -> int:
    """The first attempt that is meant. Raises NotFound if the job has no such attempt, or no such replica in it."""
    attempt = base(choice, positions, standing)
    if attempt > standing.attempt:
        raise NotFound(f"the job has no attempt {attempt}; its last one is {standing.attempt}")
    if not is_there(choice, standing, attempt):
        raise NotFound(f"attempt {attempt} has no such replica; look at the tasks of the job")
    return attempt
