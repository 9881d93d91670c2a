"""A row for each use of an artifact."""

from __future__ import annotations

from collections.abc import Sequence

from pf_kit.unit import Database
from pf_pipeline.artifacts.domain import ArtifactEvent, EventFilter, Period
from pf_pipeline.artifacts.store import ArtifactStore
from pf_pipeline.tables.domain import Column, ColumnKind, Row

COLUMNS = (
    Column("number", ColumnKind.WHOLE),
    Column("run_id"),
    Column("run_time", ColumnKind.TIME),
    Column("node"),
    Column("step"),
    Column("owner"),
    Column("filesystem_id"),
    Column("filesystem"),
    Column("use"),
    Column("artifact"),
    Column("paths", ColumnKind.TEXTS),
    Column("digest"),
    Column("job_id"),
    Column("cached", ColumnKind.TRUTH),
    Column("meta"),
    Column("create_time", ColumnKind.TIME),
    Column("update_time", ColumnKind.TIME),
)


class LineageRows:
    """Fulfils `RowSource`."""

    columns: Sequence[Column] = COLUMNS

    def __init__(self, *, database: Database, store: ArtifactStore) -> None:
        self._database = database
        self._store = store

    async def rows(self, period: Period, after: str, limit: int) -> Sequence[Row]:
        chosen = EventFilter(since=period.since, until=period.until, seen_by=period.seen_by)
        return [
            _row(event) for event in await self._store.events(self._database.newest, chosen, int(after or 0), limit)
        ]


def _row(event: ArtifactEvent) -> Row:
    values = (
        event.number,
        event.key.run,
        event.run_time,
        event.key.node,
        event.step,
        event.owner,
        event.filesystem_id,
        event.filesystem,
        event.use.value,
        event.artifact,
        event.paths,
        event.digest,
        event.job,
        event.cached,
        event.meta,
        event.create_time,
        event.update_time,
    )
    return Row(str(event.number), values)
