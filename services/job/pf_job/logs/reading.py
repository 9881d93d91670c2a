"""Reads the log of one replica."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from paddleflow.problems import NotFound
from pf_job.logs.cutting import CHUNK, SEARCHED, is_reached, pieces, searched, told
from pf_job.logs.domain import Beginning, Chunk, Offset, Position, Query, Since, TailBytes, TailLines
from pf_job.logs.tail import Tail, tail
from pf_job.runtimes.port import ReplicaKey, Runtime
from pf_kit.clock import Clock

BLOCK = 4 * CHUNK
"""Bytes that are read at once, and all that is held of a log."""
SLACK = 5_000_000
"""Microseconds by which the time of a byte may be told too early: how seldom a runtime looks at its logs, and a bit."""

T = TypeVar("T")


class Reader:
    """Tells the log of one replica, from where it is to begin to where it is to end."""

    def __init__(self, runtime: Runtime, key: ReplicaKey, query: Query, clock: Clock) -> None:
        self._runtime = runtime
        self._query = query
        self._clock = clock
        self._stop: int | None = None
        """Nothing from this byte on is told; None if that is not known yet."""
        self._lost = 0
        """Bytes that are not kept, and of which nothing was told yet."""
        self._reported = 0
        """The offset that was told last."""
        self.key = key
        self.position = Position(key, 0)
        self.seen = 0
        """The first byte that was not looked at yet."""

    @property
    def done(self) -> bool:
        return self.position.end

    async def begin(self) -> None:
        """Finds the beginning and the end. Raises NotFound if there is no log."""
        size = await self._size()
        if not self._query.follow:
            # Who does not follow is told what there is now, even if more is written quicker than it is told.
            self._stop = size
        await self._heed_until()
        given = self._query.positions.get(self.key)
        self.position = given or Position(self.key, await self._start())
        self._reported = self.position.offset
        if is_reached(self.position.lines, self.position.bytes, self._query.bounds):
            self.position = replace(self.position, end=True)

    async def tell(self, *, whole: bool, over: bool) -> Sequence[Chunk]:
        """What there is to tell now. The last chunk of all says that it is.

        `whole` leaves a line for later whose end is not there yet; `over` says that the replica surely is over.
        """
        if self._stop is None:
            await self._heed_until()
        try:
            return await self._read(whole=whole, over=over)
        except NotFound:
            # Somebody has deleted it meanwhile.
            return [self._end()]

    def progress(self) -> Sequence[Chunk]:
        """Where the log stands, if it was searched a long way in which nothing was found."""
        if self.done or self._reported == self.position.offset:
            return []
        return [self._chunk(self.position.offset, b"")]

    async def _read(self, *, whole: bool, over: bool) -> Sequence[Chunk]:
        at = self.position.offset
        if self._stop is not None and at >= self._stop:
            return [self._end()]
        block = await self._runtime.read_log(self.key, at, BLOCK)
        data = block.data if self._stop is None else block.data[: max(0, self._stop - block.offset)]
        self.seen = block.offset + len(data)
        stopped = self._stop is not None and (self.seen >= self._stop or not data)
        last = block.end or stopped or (over and not data)
        self._lost += max(0, block.offset - at)
        # Of a full block there is more to come, so that no line needs to be cut.
        rest = last or ((over or not whole) and len(data) < BLOCK)
        chunks = await self._aside(partial(self._chunks, block.offset, data, rest=rest))
        return [*chunks, self._end()] if last and not self.done else chunks

    async def wait(self, patience: float) -> None:
        """Returns when there may be more to tell, or after so many seconds."""
        await self._runtime.wait_log(self.key, self.seen, int(patience * 1e6))

    async def _aside(self, work: Callable[[], T]) -> T:
        """Does what may take a tenth of a second, if there is a search, without holding up others."""
        return await asyncio.to_thread(work) if self._query.search else work()

    def _chunks(self, offset: int, block: bytes, *, rest: bool) -> Sequence[Chunk]:
        """Moves on to the end of a block."""
        return list(self._moved(offset, block, rest=rest))

    def _moved(self, offset: int, block: bytes, *, rest: bool) -> Iterator[Chunk]:
        self.position = replace(self.position, offset=offset)
        for piece in pieces(block, offset, rest=rest, most=SEARCHED if self._query.search else CHUNK):
            data, self.position = told(searched(piece, self._query.search), self.position, self._query.bounds)
            if data or self.done:
                yield self._chunk(piece.offset, data)
            if self.done:
                return

    def _end(self) -> Chunk:
        self.position = replace(self.position, end=True)
        return self._chunk(self.position.offset, b"")

    def _chunk(self, offset: int, data: bytes) -> Chunk:
        lost, self._lost, self._reported = self._lost, 0, self.position.offset
        return Chunk(offset, data, self.position, lost)

    async def _start(self) -> int:
        match self._query.start:
            case Beginning():
                return 0
            case Offset(offset):
                return offset
            case TailBytes(count):
                return max(0, await self._close() - count)
            case TailLines(0):
                return await self._close()
            case TailLines(count):
                return await self._find_tail(tail(count, self._query.search), await self._close())
            case Since(time):
                return await self._line_before(await self._runtime.log_offset(self.key, time))

    async def _find_tail(self, search: Tail, before: int) -> int:
        while True:
            begin = max(0, before - BLOCK)
            block = await self._runtime.read_log(self.key, begin, before - begin)
            # If the oldest bytes were given up, the block begins later than asked for, and reaches further.
            data = block.data[: max(0, before - block.offset)]
            if not data:
                return before
            first = block.offset <= block.kept_from
            found = await self._aside(partial(search.feed, block.offset, data, first=first))
            if found is not None:
                return found
            before = block.offset

    async def _line_before(self, offset: int) -> int:
        """Where the line begins in which a byte lies, if that is not far."""
        begin = max(0, offset - CHUNK)
        block = await self._runtime.read_log(self.key, begin, offset - begin)
        line = block.data[: max(0, offset - block.offset)].rfind(b"\n")
        is_known = line >= 0 or block.offset == block.kept_from
        return min(offset, block.offset + line + 1) if is_known else offset

    async def _close(self) -> int:
        """Where to look from for the last bytes or lines."""
        return await self._size() if self._stop is None else self._stop

    async def _size(self) -> int:
        last = await self._runtime.read_log(self.key, -1, 1)
        return last.offset + len(last.data)

    async def _heed_until(self) -> None:
        """Finds where to stop, as soon as it can be told what was written when."""
        until = self._query.until
        if until is not None and until + SLACK <= self._clock.now().timestamp() * 1e6:
            stop = await self._runtime.log_offset(self.key, until + SLACK)
            self._stop = stop if self._stop is None else min(self._stop, stop)
