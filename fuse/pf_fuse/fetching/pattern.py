"""Guessing from what was read of a file what will be read next.

Whoever reads a file from one place on is a stream, and a file may have several. The further a stream has come, the more
is fetched before it. What fits no stream is read at random as far as anybody knows, and nothing is fetched beyond it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pf_fuse.pages.keys import PAGE, Extent

MIB = 1024 * 1024
FIRST = MIB
"""Bytes before a stream when it begins."""
SKIP = MIB
"""Bytes that a stream may leave out; also by which it may come late, as the kernel's own reading ahead does."""
STREAMS = 8
"""In one file."""


@dataclass(slots=True)
class Stream:
    """Somebody who reads on and on."""

    next: int
    """Where the farthest read ended."""
    reached: int
    """Up to where was fetched, or is going to be."""
    window: int
    """How much is fetched before it."""

    def follows(self, start: int) -> bool:
        """True if a read from there on may be the next one."""
        return self.next - SKIP <= start <= self.next + max(SKIP, self.window // 2)

    def advance(self, end: int, most: int, block: int) -> Extent:
        """What to fetch, beyond what was asked for: nothing as long as half of the window lies before the stream."""
        self.next = max(self.next, end)
        self.reached = max(self.reached, self.next)
        if self.reached - self.next > self.window // 2:
            return Extent(self.reached, self.reached)
        self.window = min(most, max(FIRST, 2 * self.window))
        until = self.next + self.window
        if self.window >= block:
            until -= until % -block
        start, self.reached = self.reached, max(self.reached, until)
        return Extent(start, self.reached)


class Pattern:
    """How a file is read."""

    __slots__ = ("_block", "_streams")

    def __init__(self, block: int) -> None:
        self._block = block
        self._streams: list[Stream] = []

    @property
    def led(self) -> bool:
        """Whoever read last reads on, and has done so for a while."""
        return bool(self._streams) and self._streams[0].window >= self._block

    def back_to(self, place: int) -> None:
        """Of what was to be fetched before who read last, nothing is fetched from there on."""
        self._streams[0].reached = place

    def observe(self, start: int, end: int, most: int) -> Extent:
        """What to fetch beyond what is read; may lie behind the end of the file."""
        for place, stream in enumerate(self._streams):
            if stream.follows(start):
                if place:
                    self._streams.insert(0, self._streams.pop(place))
                return stream.advance(end, most, self._block)
        made = Stream(end, end, 0)
        self._streams.insert(0, made)
        del self._streams[STREAMS:]
        return made.advance(end, most, self._block) if start == 0 else Extent(end, end)


def requests(extent: Extent, block: int, size: int) -> Iterator[Extent]:
    """Whole pages of an extent as requests, none across the border of a block."""
    start, end = extent.start - extent.start % PAGE, min(size, -(-extent.end // PAGE) * PAGE)
    while start < end:
        until = min(end, (start // block + 1) * block)
        yield Extent(start, until)
        start = until
