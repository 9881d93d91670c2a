"""Where mounts are kept, and how what is read there is kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from pf_fs.mounts.domain import Cache, MountFilter, MountPlace, Report
from pf_kit.unit import Change, View


class MountStore(Protocol):
    """The port to the rows of mounts and caches. They go with their filesystem.

    Reports come all the time and from everywhere, so whoever keeps one holds no lock; whoever changes a cache holds
    that of filesystems.
    """

    async def keep(self, change: Change, report: Report) -> None:
        """Keeps a report in place of the one before. Raises FilesystemNotFound if the filesystem is gone."""

    async def end(self, change: Change, filesystem_id: str, mount_id: str, user: str | None) -> None:
        """Forgets a mount, of this user or of anybody."""

    async def others(self, view: View, report: Report, since: datetime) -> int:
        """How many other mounts of the filesystem its user has that were reported since then."""

    async def mounts(
        self, view: View, chosen: MountFilter, since: datetime, after: MountPlace | None, limit: int
    ) -> Sequence[Report]:
        """The mounts after this one that were reported since then, by place."""

    async def cache(self, view: View, filesystem_id: str) -> Cache | None:
        """What was said about the cache of a filesystem."""

    async def set_cache(self, change: Change, filesystem_id: str, cache: Cache) -> None:
        """Keeps it in place of what was said before."""

    async def remove_cache(self, change: Change, filesystem_id: str) -> bool:
        """Forgets it; False if nothing was said."""
