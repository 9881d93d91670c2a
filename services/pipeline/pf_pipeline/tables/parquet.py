"""Tables as Parquet files."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from pf_pipeline.tables.domain import Column, ColumnKind, Row

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

TYPES = {
    ColumnKind.TEXT: pa.string(),
    ColumnKind.WHOLE: pa.int64(),
    ColumnKind.TRUTH: pa.bool_(),
    ColumnKind.TIME: pa.timestamp("us", tz="UTC"),
    ColumnKind.TEXTS: pa.list_(pa.string()),
}


class ParquetFile:
    """A file that is written from its beginning to its end, and of which nothing is kept that was taken."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._schema = pa.schema([pa.field(column.name, TYPES[column.kind]) for column in columns])
        self._sink = _Sink()
        self._writer = pq.ParquetWriter(pa.PythonFile(self._sink, "w"), self._schema, compression="zstd")

    def write(self, rows: Sequence[Row]) -> bytes:
        """Writes rows, as one group, and returns the next bytes of the file."""
        columns = zip(*(row.values for row in rows), strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)]
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))
        return self._sink.taken()

    def close(self) -> bytes:
        """The last bytes of the file."""
        self._writer.close()
        return self._sink.taken()


class _Sink(io.RawIOBase):
    """Holds what was written, until it is taken."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []
        self._length = 0

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        piece = bytes(data)
        self._pieces.append(piece)
        self._length += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._length

    def taken(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)
