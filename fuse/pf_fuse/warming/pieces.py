"""What of a file has to be fetched."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass

from pf_backends.entries import Entry
from pf_fuse.pages.file import CachedFile
from pf_fuse.pages.keys import Extent

BLOCK = 4 << 20
"""Bytes of one request."""
SMALL = 1 << 20
"""Bytes of files up to which a file comes with one request that tells its version and its checksum too."""


@dataclass(slots=True, eq=False)
class Wanted:
    """A file that is brought here."""

    entry: Entry
    file: CachedFile
    left: int = 1
    """Pieces that are under way, and one while there may be more."""
    error: str = ""
    """Why nothing more of it is fetched."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of a file that are fetched at once."""

    wanted: Wanted
    extent: Extent

    @property
    def whole(self) -> bool:
        return self.extent.size == self.wanted.entry.size <= SMALL


def pieces_of(wanted: Wanted) -> Iterator[Piece]:
    """What of it is not here; nothing more once something went wrong."""
    for gap in wanted.file.missing(0, wanted.entry.size):
        for start in range(gap.start, gap.end, BLOCK):
            if wanted.error:
                return
            yield Piece(wanted, Extent(start, min(start + BLOCK, gap.end)))


def new_buffer() -> memoryview:
    """Memory for a piece that lies as disks want it."""
    return memoryview(mmap.mmap(-1, BLOCK))
