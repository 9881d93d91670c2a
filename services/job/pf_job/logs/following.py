"""Follows the logs of replicas, and takes up those that come later."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from paddleflow.problems import InvalidArgument, ShuttingDown, Violation
from pf_job.logs.choosing import chosen
from pf_job.logs.domain import Chunk, Known, Query, Standing
from pf_job.logs.reading import Reader
from pf_job.runtimes.port import ReplicaKey
from pf_kit.clock import Clock

MOST = 100
"""Replicas that one stream follows at once."""
LOOK = 2.0
"""Seconds after which it is looked again whether the caller may read, and which replicas there are."""
SHORTEST = 0.05
LONGEST = 1.0
"""Seconds between two looks as long as there is nothing to read."""


class Following:
    """Logs that are read as they grow. Of each no more is held than what is told of it at the moment."""

    def __init__(
        self,
        query: Query,
        attempt: int,
        begin: Callable[[ReplicaKey], Awaitable[Reader | None]],
        clock: Clock,
        closing: asyncio.Event,
    ) -> None:
        """`begin` gives None if there is no log. Once it is `closing`, following ends with ShuttingDown."""
        self._query = query
        self._attempt = attempt
        self._begin = begin
        self._clock = clock
        self._closing = closing
        self._anew = not query.positions
        self._pause = SHORTEST
        self._readers: dict[ReplicaKey, Reader] = {}
        self._waits: dict[ReplicaKey, asyncio.Task[None]] = {}
        self._meant: Sequence[Known] = ()
        self._met: set[ReplicaKey] = set(query.positions)
        """All that were ever meant."""
        self._over: set[ReplicaKey] = set()
        """Those that are over by the record of the job."""

    async def run(self, standing: Standing, look: Callable[[], Awaitable[Standing]]) -> AsyncGenerator[Chunk, None]:
        """Ends when all that is followed is over and told."""
        closed = asyncio.create_task(self._closing.wait())
        try:
            while not await self._take_up(standing):
                due = self._clock.monotonic() + LOOK
                if not self._open:
                    await asyncio.wait([closed], timeout=self._longer_pause())
                while self._open and not closed.done() and (left := due - self._clock.monotonic()) > 0:
                    for reader in self._ready():
                        for chunk in await self._tell(reader):
                            yield chunk
                    if self._open and not self._ready():
                        waits = [closed, *self._waits.values()]
                        await asyncio.wait(waits, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                for chunk in self._progress():
                    yield chunk
                if closed.done():
                    raise ShuttingDown
                standing = await look()
        finally:
            for wait in (closed, *self._waits.values()):
                wait.cancel()

    @property
    def _open(self) -> Sequence[Reader]:
        return [reader for reader in self._readers.values() if not reader.done]

    async def _take_up(self, standing: Standing) -> bool:
        """Begins to read what is new. True if everything is told, and nothing more will come."""
        query = self._query
        self._meant = chosen(query.choice, standing, self._attempt, self._met, later=query.later, anew=self._anew)
        self._anew = False
        self._met.update(each.key for each in self._meant)
        self._over.update(each.key for each in self._meant if each.over)
        missing = [each.key for each in self._meant if each.key not in self._readers and not self._is_told(each.key)]
        if len(self._open) + len(missing) > MOST:
            raise InvalidArgument.of(Violation("choice.role", f"must leave at most {MOST} replicas to be followed"))
        for key in missing:
            if (reader := await self._begin(key)) is not None:
                self._readers[key] = reader
        if any(not self._is_finished(each.key) for each in self._meant):
            return False
        if query.later:
            return standing.over
        return bool(self._meant) or standing.over or standing.attempt > self._attempt

    def _is_told(self, key: ReplicaKey) -> bool:
        position = self._query.positions.get(key)
        return position is not None and position.end

    def _is_finished(self, key: ReplicaKey) -> bool:
        """True if nothing more will be told of a replica; also if it is over and never had a log."""
        reader = self._readers.get(key)
        return reader.done if reader is not None else self._is_told(key) or key in self._over

    def _progress(self) -> Sequence[Chunk]:
        """Where those stand that were searched a long way in which nothing was found."""
        return [chunk for reader in self._open for chunk in reader.progress()]

    def _longer_pause(self) -> float:
        self._pause = min(LONGEST, self._pause * 2)
        return self._pause

    def _ready(self) -> Sequence[Reader]:
        """The replicas of which there may be something to tell."""
        return [reader for reader in self._open if reader.key not in self._waits or self._waits[reader.key].done()]

    async def _tell(self, reader: Reader) -> Sequence[Chunk]:
        """What there is to tell now of a replica; waits for more beside if that is nothing."""
        if (wait := self._waits.pop(reader.key, None)) is not None:
            await wait
        whole = self._query.search is not None or len(self._readers) > 1
        before = reader.position
        chunks = await reader.tell(whole=whole, over=reader.key in self._over)
        if reader.position == before:
            self._waits[reader.key] = asyncio.create_task(reader.wait(LOOK))
        else:
            self._pause = SHORTEST
        return chunks
