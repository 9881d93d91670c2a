"""Tables, as files that are made while they are read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Protocol

from pf_pipeline.artifacts.domain import Period, Table
from pf_pipeline.tables.domain import Column, Row
from pf_pipeline.tables.store import RowSource

GROUP = 5000
"""Rows that are held at once: one group of the file."""
PIECE = 256 * 1024
"""Bytes that are handed out at once."""


class File(Protocol):
    """A file that is written from its beginning to its end."""

    def write(self, rows: Sequence[Row]) -> bytes:
        """Writes rows, and returns the next bytes of the file."""

    def close(self) -> bytes:
        """The last bytes of the file."""


class TableFiles:
    """Fulfils `Tables`."""

    def __init__(self, *, sources: Mapping[Table, RowSource], begin: Callable[[Sequence[Column]], File]) -> None:
        self._sources = sources
        self._begin = begin

    async def parquet(self, table: Table, period: Period) -> AsyncIterator[bytes]:
        source = self._sources[table]
        # Packing a group takes a few hundredths of a second, in which others want to be served.
        file = await asyncio.to_thread(self._begin, source.columns)
        place = ""
        while rows := await source.rows(period, place, GROUP):
            for piece in _pieces(await asyncio.to_thread(file.write, rows)):
                yield piece
            place = rows[-1].place
        for piece in _pieces(await asyncio.to_thread(file.close)):
            yield piece


def _pieces(data: bytes) -> Iterator[bytes]:
    for begin in range(0, len(data), PIECE):
        yield data[begin : begin + PIECE]
