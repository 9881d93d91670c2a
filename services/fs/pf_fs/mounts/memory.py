"""Mounts in memory, for tests: as durable as the process."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from paddleflow.problems import FilesystemNotFound
from pf_fs.domain import Filesystem
from pf_fs.mounts.domain import Cache, MountFilter, MountPlace, Report
from pf_kit.memory import tables
from pf_kit.unit import Change, View

Key = tuple[str, str, str]
"""Filesystem, user, mount."""


class MemoryMountStore:
    """Fulfils `MountStore` over a `MemoryDatabase`."""

    async def keep(self, change: Change, report: Report) -> None:
        if report.filesystem_id not in _filesystems(change):
            raise FilesystemNotFound(f"no filesystem {report.filesystem_id!r}")
        key = (report.filesystem_id, report.user, report.mount_id)
        _mounts(change)[key] = report.after(_mounts(change).get(key))

    async def end(self, change: Change, filesystem_id: str, mount_id: str, user: str | None) -> None:
        kept = _mounts(change)
        for key in [each for each in kept if each[::2] == (filesystem_id, mount_id) and user in (None, each[1])]:
            del kept[key]

    async def others(self, view: View, report: Report, since: datetime) -> int:
        own = [each for key, each in _mounts(view).items() if key[:2] == (report.filesystem_id, report.user)]
        return sum(each.mount_id != report.mount_id and each.report_time > since for each in own)

    async def mounts(
        self, view: View, chosen: MountFilter, since: datetime, after: MountPlace | None, limit: int
    ) -> Sequence[Report]:
        found = (each for each in _mounts(view).values() if each.report_time > since and _is_chosen(view, chosen, each))
        later = [each for each in found if after is None or each.place > after]
        return sorted(later, key=lambda each: each.place)[:limit]

    async def cache(self, view: View, filesystem_id: str) -> Cache | None:
        return _caches(view).get(filesystem_id)

    async def set_cache(self, change: Change, filesystem_id: str, cache: Cache) -> None:
        _caches(change)[filesystem_id] = cache

    async def remove_cache(self, change: Change, filesystem_id: str) -> bool:
        return _caches(change).pop(filesystem_id, None) is not None


def _filesystems(view: View) -> dict[str, Filesystem]:
    return tables(view).table("filesystems")


def _mounts(view: View) -> dict[Key, Report]:
    return tables(view).table("mounts")


def _caches(view: View) -> dict[str, Cache]:
    return tables(view).table("caches")


def _is_chosen(view: View, chosen: MountFilter, each: Report) -> bool:
    owner = _filesystems(view)[each.filesystem_id].owner
    return (
        chosen.filesystem_id in ("", each.filesystem_id)
        and chosen.node in ("", each.node)
        and chosen.seen_by in (None, each.user, owner)
    )
