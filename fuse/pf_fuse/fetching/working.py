"""What the threads do that fetch."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from itertools import count

from pf_backends.entries import Entry
from pf_backends.errors import Changed, changed, failure, unreachable
from pf_fuse.fetching.common import Common, Source
from pf_fuse.fetching.fetches import Fetch
from pf_fuse.fetching.memory import Block, aligned_at
from pf_fuse.fetching.reading import Reading
from pf_fuse.fetching.turns import Turn
from pf_fuse.pages.keys import Extent

LONG = 1.0
"""Seconds that somebody may look at memory that others wait for."""
MOMENT = 0.05
"""Seconds after which somebody who waits for memory looks by himself."""


class Work:
    """What each of the threads does that fetch."""

    def __init__(self, common: Common, hold: Callable[[Entry], Reading], let_go: Callable[[Reading], None]) -> None:
        self._common = common
        self._hold = hold
        self._let_go = let_go

    def run(self) -> None:
        """Serves whoever's turn it is, until the end."""
        while (turn := self._turn()) is not None:
            match turn:
                case Fetch():
                    self.fetch(turn)
                case Entry():
                    self._fetch_ahead(turn)
                case Reading():
                    turn.file.verify()
                    self._let_go(turn)

    def _turn(self) -> Turn | None:
        common = self._common
        with common.lock:
            while not common.turns.ended:
                turn = common.turns.next()
                if turn is not None:
                    if isinstance(turn, Fetch):
                        turn.reading.holds += 1
                    return turn
                if not common.turns.sleep():
                    common.memory.rest()
        return None

    def _fetch_ahead(self, entry: Entry) -> None:
        """A small file that may be opened soon."""
        reading = self._hold(entry)
        with self._common.lock:
            fetch = reading.claim()
        if fetch:
            self.fetch(fetch)
        else:
            self._let_go(reading)

    def fetch(self, fetch: Fetch) -> None:
        """Fetches, and tells who waits. Lets go of the file."""
        times = fetch.reading.times
        try:
            block = self._whole(fetch) if fetch.whole else self._part(fetch)
            if block is not None:
                self._arrived(fetch, block)
        except FileNotFoundError:
            gone = changed(fetch.reading.entry.path, "the file was removed since it was looked at")
            self._failed(fetch, gone, times)
        except OSError as error:
            self._failed(fetch, error, times)
        except BaseException as error:
            path = fetch.reading.entry.path
            self._failed(fetch, unreachable(path, f"a fault of this program, please report it: {error!r}"), times)
            raise
        finally:
            self._let_go(fetch.reading)

    def _whole(self, fetch: Fetch) -> Block | None:
        """All of a small file, with one request."""
        entry, common = fetch.reading.entry, self._common
        if self._room(fetch) is None:
            return None
        try:
            begun = time.monotonic()
            fetch.found, data = fetch_whole(common.source, entry)
            common.pace.took(time.monotonic() - begun)
            return Block(fetch.extent, data, fetch.reading.blocks)
        except BaseException:
            with common.lock:
                common.memory.unclaim(entry.size)
            raise

    def _part(self, fetch: Fetch) -> Block | None:
        entry, extent, common = fetch.reading.entry, fetch.extent, self._common
        buffer = self._room(fetch)
        if buffer is None:
            return None
        block = Block(extent, buffer, fetch.reading.blocks, at=aligned_at(buffer))
        try:
            fetch_part(common.source, entry, extent, memoryview(buffer)[block.at : block.at + extent.size])
        except BaseException:
            with common.lock:
                common.memory.give(buffer)
            raise
        return block

    def _room(self, fetch: Fetch) -> bytearray | None:
        """Waits for memory as long as somebody waits for the bytes; None if nobody does, and there is none."""
        common = self._common
        with common.lock:
            for moment in count(1):
                buffer = self._taken(fetch)
                if buffer is not None:
                    common.counts.requests += 1
                    return buffer
                if common.turns.ended or not fetch.wanted:
                    self._give_up(fetch)
                    return None
                common.freed.wait(MOMENT)
                if moment * MOMENT >= LONG:
                    common.memory.disown()
        return None

    def _taken(self, fetch: Fetch) -> bytearray | None:
        """A buffer, an empty one for a small file whose bytes the backend brings; None if there is no memory now."""
        memory, urgent = self._common.memory, bool(fetch.waits)
        if fetch.whole:
            return bytearray() if memory.claim(fetch.extent.size, urgent=urgent) else None
        return memory.take(fetch.extent.size, urgent=urgent)

    def _give_up(self, fetch: Fetch) -> None:
        """There is no memory for it. The caller holds the lock."""
        if fetch.whole or fetch.ended or self._common.turns.ended or fetch.reading.unused:
            fetch.reading.landed(fetch)
        else:
            self._common.turns.put_back(fetch)

    def _arrived(self, fetch: Fetch, block: Block) -> None:
        common, reading, extent = self._common, fetch.reading, fetch.extent
        view = memoryview(block.data)[block.at : block.at + extent.size].toreadonly()
        with common.lock:
            block.unread = not fetch.waits
            common.memory.keep(block)
            reading.landed(fetch)
            common.counts.fetched += extent.size
            common.counts.fetched_ahead += extent.size if block.unread else 0
        for wait in fetch.waits:
            wait.arrived(fetch, view)
        kept = reading.file.fill(extent.start, view)
        if common.cache.tidy() and not kept:
            kept = reading.file.fill(extent.start, view)
        with common.lock:
            block.kept = kept
            common.freed.notify()
            common.turns.fed()
        if kept and reading.file.complete:
            reading.file.recall()

    def _failed(self, fetch: Fetch, error: OSError, times: int) -> None:
        """`times`: how often the file had been opened when it was asked for."""
        with self._common.lock:
            self._common.counts.failures += 1
            fetch.reading.landed(fetch)
            fetch.error = error
            if isinstance(error, Changed) and fetch.reading.times == times:
                fetch.reading.error = error
        for wait in fetch.waits:
            wait.failed(error)


def fetch_whole(source: Source, entry: Entry) -> tuple[Entry, bytes]:
    """A small file of the version that is asked for, and its bytes."""
    try:
        found, data = source.fetch(entry.path, limit=entry.size)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise changed(entry.path, "the file has grown since it was looked at; open it again") from error
        raise
    other = bool(entry.version) and found.version != entry.version
    if other or len(data) != entry.size:
        raise changed(entry.path, "the file was changed since it was looked at; open it again")
    return found, data


def fetch_part(source: Source, entry: Entry, extent: Extent, into: memoryview) -> None:
    """Fills memory with bytes of the version that is asked for."""
    count = source.read(entry.path, extent.start, into, version=entry.version)
    if count < extent.size:
        raise changed(entry.path, f"the file ends at {extent.start + count} of {entry.size} bytes; open it again")
    if count > extent.size:
        raise failure(errno.EIO, entry.path, f"the backend gave {count} bytes for {extent.size}")
