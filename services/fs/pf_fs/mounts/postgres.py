"""Mounts in Postgres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime

from paddleflow.problems import FilesystemNotFound
from pf_fs.mounts.domain import Cache, MetaDriver, MountFilter, MountPlace, Report, Usage
from pf_kit.postgres.queries import load_queries
from pf_kit.postgres.views import Row, on_constraint, rows
from pf_kit.unit import Change, View


class PostgresMountStore:
    """Fulfils `MountStore` over a `PostgresDatabase`."""

    def __init__(self) -> None:
        self._sql: Mapping[str, str] = load_queries("pf_fs", "sql/mounts.sql")

    async def keep(self, change: Change, report: Report) -> None:
        gone = FilesystemNotFound(f"no filesystem {report.filesystem_id!r}")
        with on_constraint(filesystem_mounts_filesystem=gone):
            await rows(change).execute(
                self._sql["keep"],
                report.filesystem_id,
                report.user,
                report.mount_id,
                report.node,
                report.path,
                report.read_only,
                report.etag,
                asdict(report.usage),
                report.create_time,
                report.report_time,
            )

    async def end(self, change: Change, filesystem_id: str, mount_id: str, user: str | None) -> None:
        await rows(change).execute(self._sql["end"], filesystem_id, mount_id, user)

    async def others(self, view: View, report: Report, since: datetime) -> int:
        words = (report.filesystem_id, report.user, report.mount_id)
        return int(await rows(view).fetchval(self._sql["others"], *words, since))

    async def mounts(
        self, view: View, chosen: MountFilter, since: datetime, after: MountPlace | None, limit: int
    ) -> Sequence[Report]:
        place = (after.filesystem_id, after.node, after.user, after.mount_id) if after else (None,) * 4
        words = (chosen.filesystem_id or None, chosen.node or None, chosen.seen_by)
        found = await rows(view).fetch(self._sql["mounts"], since, *words, *place, limit)
        return [_report(row) for row in found]

    async def cache(self, view: View, filesystem_id: str) -> Cache | None:
        row = await rows(view).fetchrow(self._sql["cache"], filesystem_id)
        return _cache(row["cache"]) if row else None

    async def set_cache(self, change: Change, filesystem_id: str, cache: Cache) -> None:
        await rows(change).execute(self._sql["set_cache"], filesystem_id, asdict(cache))

    async def remove_cache(self, change: Change, filesystem_id: str) -> bool:
        return await rows(change).fetchval(self._sql["remove_cache"], filesystem_id) is not None


def _report(row: Row) -> Report:
    usage = row["usage"]
    return Report(
        filesystem_id=row["filesystem_id"],
        mount_id=row["mount_id"],
        user=row["user_name"],
        node=row["node"],
        path=row["path"],
        read_only=row["read_only"],
        etag=row["etag"],
        usage=Usage(**usage | {"folders": tuple(usage["folders"])}),
        create_time=row["create_time"],
        report_time=row["report_time"],
    )


def _cache(kept: dict[str, object]) -> Cache:
    folders, driver = kept["folders"], kept["meta_driver"]
    return Cache(**kept | {"folders": tuple(folders), "meta_driver": MetaDriver(driver)})  # type: ignore[arg-type]  # as it was kept
