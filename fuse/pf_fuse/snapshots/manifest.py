"""A snapshot as others can read it too: a table in Parquet, with a row for each thing.

The rows of what is in a folder follow one another, in the order of their names; that of the top, whose path is empty,
is the first. Only short-lived processes load this module: what reads Parquet takes 50 MiB of memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pf_backends.entries import Entry, Kind

_TIME = pa.timestamp("ns", tz="UTC")
_SCHEMA = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("modified", _TIME, nullable=False),
        pa.field("version", pa.string(), nullable=False),
        pa.field("mode", pa.int32()),
        pa.field("uid", pa.int64()),
        pa.field("gid", pa.int64()),
        pa.field("target", pa.string()),
    ]
)
_FORM = {b"paddleflow.snapshot": b"1"}
_ROWS = 1 << 16
"""Rows that are written, or read, at a time."""


def write(path: Path, groups: Iterable[Sequence[Entry]], address: str) -> Iterator[Sequence[Entry]]:
    """Writes what comes, and hands it on; the file is whole when all was handed on."""
    known = _FORM | {b"paddleflow.address": address.encode()}
    waiting: list[Entry] = []
    with pq.ParquetWriter(path, _SCHEMA.with_metadata(known), compression="zstd") as writer:
        for entries in groups:
            waiting += entries
            if len(waiting) >= _ROWS:
                writer.write_table(_table(waiting))
                waiting = []
            yield entries
        writer.write_table(_table(waiting))


def rows(path: Path) -> Iterator[Entry]:
    """ValueError if it is no snapshot."""
    try:
        with pq.ParquetFile(path) as file:
            if (file.schema_arrow.metadata or {}).get(b"paddleflow.snapshot") != _FORM[b"paddleflow.snapshot"]:
                raise ValueError(f"{path} is no snapshot as `paddleflow fs snapshot` makes them")
            for batch in file.iter_batches(_ROWS):
                yield from _entries(batch)
    except pa.ArrowException as error:
        raise ValueError(f"{path} cannot be read: {error}") from None


def _table(entries: Sequence[Entry]) -> Any:  # noqa: ANN401  # pyarrow has no types
    columns: Mapping[str, Sequence[object]] = {
        "path": [entry.path for entry in entries],
        "kind": [entry.kind.value for entry in entries],
        "size": [entry.size for entry in entries],
        "modified": [entry.modified for entry in entries],
        "version": [entry.version for entry in entries],
        "mode": [entry.mode for entry in entries],
        "uid": [entry.owner[0] if entry.owner else None for entry in entries],
        "gid": [entry.owner[1] if entry.owner else None for entry in entries],
        "target": [entry.target or None for entry in entries],
    }
    return pa.table([pa.array(columns[field.name], field.type) for field in _SCHEMA], schema=_SCHEMA)


def _entries(batch: Any) -> Iterator[Entry]:  # noqa: ANN401  # as above
    times = batch.column("modified").cast(pa.int64()).to_pylist()
    others = (batch.column(name).to_pylist() for name in _SCHEMA.names if name != "modified")
    for path, kind, size, version, mode, uid, gid, target, modified in zip(*others, times, strict=True):
        owner = None if uid is None or gid is None else (uid, gid)
        yield Entry(path, Kind(kind), size, modified, version, mode, owner, target or "")
