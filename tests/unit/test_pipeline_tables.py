"""Tables are Parquet files that others can read, however many rows there are."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow.parquet as pq

from pf_kit.clock import SystemClock
from pf_kit.events import Fact
from pf_kit.memory import MemoryDatabase
from pf_pipeline.artifacts.domain import ArtifactEvent, NodeKey, Period, Table, Use
from pf_pipeline.artifacts.memory import MemoryArtifactStore
from pf_pipeline.owners import Owner
from pf_pipeline.tables.domain import Column, ColumnKind, Row
from pf_pipeline.tables.lineage import LineageRows
from pf_pipeline.tables.parquet import ParquetFile
from pf_pipeline.tables.service import GROUP, PIECE, TableFiles
from pf_pipeline.tables.store import RowSource

MADE = datetime(2030, 1, 1, tzinfo=UTC)
COLUMNS = (
    Column("text"),
    Column("whole", ColumnKind.WHOLE),
    Column("truth", ColumnKind.TRUTH),
    Column("time", ColumnKind.TIME),
    Column("texts", ColumnKind.TEXTS),
)


class Counted:
    """Fulfils `RowSource` with so many rows."""

    columns: Sequence[Column] = COLUMNS

    def __init__(self, number: int) -> None:
        self._number = number

    async def rows(self, period: Period, after: str, limit: int) -> Sequence[Row]:
        begin = int(after or 0)
        return [Row(str(n + 1), values(n)) for n in range(begin, min(self._number, begin + limit))]


def values(number: int) -> tuple[Any, ...]:
    if number % 3 == 2:
        return (None,) * 5
    return (f"ä{number}", number, number % 2 == 0, MADE + timedelta(seconds=number), ["a", str(number)])


def no_events(event: object) -> Fact:
    raise TypeError(event)


async def file_of(source: RowSource, period: Period | None = None) -> bytes:
    tables = TableFiles(sources={Table.LINEAGE: source}, begin=ParquetFile)
    pieces = [piece async for piece in tables.parquet(Table.LINEAGE, period or Period())]
    assert all(0 < len(piece) <= PIECE for piece in pieces)
    return b"".join(pieces)


async def test_what_is_written_is_read() -> None:
    table = pq.read_table(io.BytesIO(await file_of(Counted(GROUP + 7))))
    assert table.column_names == [column.name for column in COLUMNS]
    assert [tuple(row.values()) for row in table.to_pylist()] == [values(n) for n in range(GROUP + 7)]


async def test_a_table_may_be_empty() -> None:
    table = pq.read_table(io.BytesIO(await file_of(Counted(0))))
    assert (table.num_rows, len(table.column_names)) == (0, len(COLUMNS))


async def test_no_more_than_a_group_is_held_at_once() -> None:
    tables = TableFiles(sources={Table.RUNS: Counted(GROUP * 12)}, begin=ParquetFile)
    tracemalloc.start()
    try:
        length = 0
        async for piece in tables.parquet(Table.RUNS, Period()):
            length += len(piece)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert length > 100_000
    assert peak < GROUP * 2500, "all rows would take twelve times as much"


async def test_lineage_has_a_row_for_each_use() -> None:
    database, store = MemoryDatabase(encode=no_events, clock=SystemClock()), MemoryArtifactStore()
    async with database.change("run") as change:
        for number, owner in enumerate(("ada", "bob", "ada")):
            event = ArtifactEvent(
                key=NodeKey(f"r{number}", "dag.train"),
                use=Use.INPUT,
                artifact="data",
                step="train",
                filesystem_id="fs",
                filesystem="data",
                owner=owner,
                paths=("a", "b"),
                run_time=MADE + timedelta(days=number),
            )
            await store.record(change, [event])
    source = LineageRows(database=database, store=store)
    rows = pq.read_table(io.BytesIO(await file_of(source))).to_pylist()
    assert [row["run_id"] for row in rows] == ["r2", "r1", "r0"]
    assert {name: rows[0][name] for name in ("node", "use", "paths", "cached", "run_time")} == {
        "node": "dag.train",
        "use": "input",
        "paths": ["a", "b"],
        "cached": False,
        "run_time": MADE + timedelta(days=2),
    }
    period = Period(since=MADE, until=MADE + timedelta(days=2), seen_by=Owner("ada"))
    rows = pq.read_table(io.BytesIO(await file_of(source, period))).to_pylist()
    assert [row["run_id"] for row in rows] == ["r0"]
