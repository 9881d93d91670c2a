"""Cuts logs into pieces, at the ends of lines where that is possible."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pf_job.logs.domain import Bounds, Position
from pf_job.logs.search import Search

CHUNK = 262_144
"""Bytes in one piece at most: a quarter of that costs the server twice as much for the same log."""
SEARCHED = 65_536
"""Bytes in one piece at most that is searched: a search takes each for a line of its own, if it holds no whole one."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a log."""

    offset: int
    data: bytes
    after: int
    """The byte to go on with."""


def pieces(block: bytes, offset: int, *, rest: bool, most: int = CHUNK) -> Iterator[Piece]:
    """Cuts a block that begins at an offset into pieces of so many bytes at most. A line that is longer is cut.

    Without `rest`, what comes after the last end of a line is left for later, unless it fills a piece.
    """
    start = 0
    while (stop := _stop(block, start, start + most, rest=rest)) > start:
        yield Piece(offset + start, block[start:stop], offset + stop)
        start = stop


def _stop(block: bytes, start: int, limit: int, *, rest: bool) -> int:
    if end := block.rfind(b"\n", start, limit) + 1:
        return end
    if limit <= len(block):
        return limit
    return len(block) if rest else start


def searched(piece: Piece, search: Search | None) -> Piece:
    """The lines of a piece that are asked for."""
    return replace(piece, data=search.keep(piece.data)) if search else piece


def told(piece: Piece, before: Position, bounds: Bounds) -> tuple[bytes, Position]:
    """What is told of a piece, and where that leaves its log."""
    data = _bounded(piece.data, before, bounds)
    lines, size = before.lines + data.count(b"\n"), before.bytes + len(data)
    after = piece.after if len(data) == len(piece.data) else piece.offset + len(data)
    return data, replace(before, offset=after, lines=lines, bytes=size, end=is_reached(lines, size, bounds))


def is_reached(lines: int, size: int, bounds: Bounds) -> bool:
    """True if all that was asked for has been told."""
    return 0 < bounds.lines <= lines or 0 < bounds.bytes <= size


def _bounded(data: bytes, before: Position, bounds: Bounds) -> bytes:
    if bounds.bytes:
        data = data[: bounds.bytes - before.bytes]
    wanted = bounds.lines - before.lines
    if bounds.lines and data.count(b"\n") >= wanted:
        left = data.split(b"\n", wanted)[-1]
        data = data[: len(data) - len(left)]
    return data
