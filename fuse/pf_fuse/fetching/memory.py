"""The memory for what is fetched, within one bound for a mount.

What was fetched stays until the room is needed. Buffers of blocks are used again and again: fresh memory costs as much
as copying. One is used again only when nobody looks at it any more, which Python itself knows, so no reader ever has to
say that it is done.
"""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import MutableMapping
from dataclasses import dataclass, field

from pf_fuse.pages.keys import PAGE, Extent

ALIGNED = 4096
"""Where what a disk takes without copying has to lie in memory: at a multiple of so many bytes."""


@dataclass(slots=True, eq=False)
class Block:
    """Bytes of one file, in memory."""

    extent: Extent
    """Empty from when the memory may be used for something else."""
    data: bytes | bytearray
    places: MutableMapping[int, Block] = field(repr=False)
    """Where its file finds it, by its pages."""
    at: int = 0
    """Where in the data the extent begins."""
    unread: bool = False
    """Fetched before it was asked for, and not read since."""
    kept: bool = False
    """It is on the disk too."""

    def view(self, start: int, end: int) -> memoryview | None:
        """Bytes of the file; None if they are not here, or no longer."""
        begin = self.extent.start
        found = memoryview(self.data)[self.at + start - begin : self.at + end - begin].toreadonly()
        # Only now nobody can use the buffer for anything else: what it holds is looked at afterwards.
        return found if self.extent.start == begin and start >= begin and end <= self.extent.end else None


class Memory:
    """Buffers within a bound. Whoever calls holds the lock of the fetcher."""

    def __init__(self, most: int, block: int) -> None:
        self.most = most
        self.used = 0
        """Bytes of all buffers that there are."""
        self.peak = 0
        self._block = block
        self._blocks: OrderedDict[Block, None] = OrderedDict()
        self._free: list[bytearray] = []
        self._lent: list[bytearray] = []
        """Of blocks that are gone, which somebody still looks at."""

    def take(self, size: int, *, urgent: bool) -> bytearray | None:
        """A buffer; None if there is none just now. What nobody waits for takes nothing that was not read yet.

        Where the machine has no memory either, this fails before anything is reckoned as used.
        """
        if size <= self._block // 2:
            small = bytearray(size + ALIGNED)
            return small if self.claim(len(small), urgent=urgent) else None
        if self.used >= self.most // 2:
            self._forget_kept()
        while not (self._free or self._regain()):
            if self.used + self._block <= self.most:
                made = bytearray(self._block + ALIGNED)
                self.used += self._block
                self.peak = max(self.peak, self.used)
                return made
            if not self._forget(urgent=urgent):
                return None
        return self._free.pop()

    def claim(self, size: int, *, urgent: bool) -> bool:
        """Room for bytes that somebody else brings; false if there is none just now."""
        while self.used + size > self.most:
            if not (self._shrink() or self._forget(urgent=urgent)):
                return False
        self.used += size
        self.peak = max(self.peak, self.used)
        return True

    def give(self, data: bytes | bytearray) -> None:
        """What was taken, or claimed, and is not needed."""
        if len(data) < self._block or isinstance(data, bytes):
            self.used -= len(data)
        elif _unseen(data, self._block + ALIGNED):
            self._free.append(data)
        else:
            self._lent.append(data)

    def unclaim(self, size: int) -> None:
        """Nobody brings the bytes."""
        self.used -= size

    def keep(self, block: Block) -> None:
        """What was fetched, from now on found by its file."""
        for page in _pages(block.extent):
            block.places[page] = block
        self._blocks[block] = None

    def touch(self, block: Block) -> None:
        """It was read."""
        block.unread = False
        if block in self._blocks:
            self._blocks.move_to_end(block)

    def drop(self, block: Block) -> None:
        """What is not needed any more."""
        if block not in self._blocks:
            return
        del self._blocks[block]
        for page in _pages(block.extent):
            if block.places.get(page) is block:
                del block.places[page]
        block.extent = Extent(-1, -1)
        self.give(block.data)

    def disown(self) -> None:
        """Buffers that somebody looks at for long are theirs from now on: nobody else is to wait for them."""
        self.used -= self._block * len(self._lent)
        self._lent.clear()

    def rest(self) -> None:
        """Nothing happens: gives back what can be had again."""
        for block in [block for block in self._blocks if block.kept]:
            self.drop(block)
        while self._regain() or self._shrink():
            pass

    def _regain(self) -> bool:
        """True if a buffer that somebody looked at is free."""
        for place, buffer in enumerate(self._lent):
            if _unseen(buffer, self._block + ALIGNED):
                self._free.append(self._lent.pop(place))
                return True
        return False

    def _shrink(self) -> bool:
        """True if there was a free buffer, which is gone."""
        if not self._free and not self._regain():
            return False
        self._free.pop()
        self.used -= self._block
        return True

    def _forget(self, *, urgent: bool) -> bool:
        """True if a block is gone: the oldest, but those that are needed still come last."""
        needed = None
        for block in self._blocks:
            if block.kept or not block.unread:
                self.drop(block)
                return True
            needed = needed or block
        if needed and urgent:
            self.drop(needed)
            return True
        return False

    def _forget_kept(self) -> None:
        """Lets go of a block that is on the disk too and was read: it is cheaper than fresh memory."""
        if not self._free:
            for block in self._blocks:
                if block.kept and not block.unread:
                    self.drop(block)
                    return


def aligned_at(buffer: bytearray) -> int:
    """Where in a buffer that was taken its bytes begin; it is as much longer."""
    return -ctypes.addressof(ctypes.c_char.from_buffer(buffer)) % ALIGNED


def _unseen(buffer: bytearray, size: int) -> bool:
    """True if nobody has a view of it: only then it can change its length. It has the size afterwards."""
    try:
        del buffer[size - 1 :]
        buffer.append(0)
    except BufferError:
        return False
    return True


def _pages(extent: Extent) -> range:
    return range(extent.start // PAGE, -(-extent.end // PAGE))
