"""What can be done with mounts and caches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from paddleflow.problems import FilesystemCacheNotFound, TooManyMounts
from pf_fs.domain import Filesystem, Key
from pf_fs.mounts.domain import MOST_MOUNTS, SILENT, Cache, MountFilter, MountPlace, Report, Usage
from pf_fs.mounts.store import MountStore
from pf_fs.service.mounted import require_unmounted
from pf_fs.service.naming import Naming, seen_by, user_of
from pf_kit.clock import Clock
from pf_kit.principal import Principal
from pf_kit.unit import Change, View


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What whoever mounted a filesystem tells; its fields are well-formed."""

    mount_id: str
    node: str
    path: str
    read_only: bool
    etag: str
    usage: Usage


class Reports:
    """Where filesystems are mounted."""

    def __init__(self, *, store: MountStore, naming: Naming, clock: Clock) -> None:
        self._store = store
        self._naming = naming
        self._clock = clock

    async def keep(self, change: Change, caller: Principal, key: Key, told: Told) -> Filesystem:
        """Keeps a report; what is mounted, as it is now. Raises what ReportMount's contract lists."""
        user = user_of(caller, "x-paddleflow-on-behalf-of")
        filesystem = await self._naming.find(change, caller, key)
        report = Report(
            filesystem_id=filesystem.id,
            mount_id=told.mount_id,
            user=user,
            node=told.node,
            path=told.path,
            read_only=told.read_only,
            etag=told.etag,
            usage=told.usage,
            create_time=change.time,
            report_time=change.time,
        )
        if await self._store.others(change, report, change.time - SILENT) >= MOST_MOUNTS:
            raise TooManyMounts(f"{user} has {MOST_MOUNTS} mounts of {filesystem.id}; end some")
        await self._store.keep(change, report)
        return filesystem

    async def end(self, change: Change, caller: Principal, filesystem_id: str, mount_id: str) -> None:
        """Forgets a mount of the caller's; root ends those of all."""
        user = user_of(caller, "x-paddleflow-on-behalf-of")
        await self._store.end(change, filesystem_id, mount_id, None if caller.root else user)

    async def page(
        self, view: View, caller: Principal, chosen: MountFilter, after: str, limit: int
    ) -> Sequence[Report]:
        """The mounts after this one that the caller may see and that are not silent."""
        place = MountPlace.parse(after) if after else None
        since = self._clock.now() - SILENT
        return await self._store.mounts(view, replace(chosen, seen_by=seen_by(caller)), since, place, limit)


class Caches:
    """How those who mount filesystems keep what they have read, as owners say."""

    def __init__(self, *, store: MountStore, naming: Naming) -> None:
        self._store = store
        self._naming = naming

    async def set(self, change: Change, caller: Principal, filesystem_id: str, cache: Cache) -> None:
        """Raises what SetFilesystemCache's contract lists."""
        filesystem = await self._naming.owned(change, caller, filesystem_id)
        await require_unmounted(self._store, change, filesystem)
        await self._store.set_cache(change, filesystem.id, cache)

    async def get(self, view: View, caller: Principal, key: Key) -> tuple[Filesystem, Cache]:
        """What was said. Raises what GetFilesystemCache's contract lists."""
        filesystem = await self._naming.find(view, caller, key)
        if (cache := await self._store.cache(view, filesystem.id)) is None:
            raise FilesystemCacheNotFound(f"nothing was said about the cache of {filesystem.id}")
        return filesystem, cache

    async def delete(self, change: Change, caller: Principal, filesystem_id: str) -> None:
        """Raises what DeleteFilesystemCache's contract lists."""
        filesystem = await self._naming.owned(change, caller, filesystem_id)
        await require_unmounted(self._store, change, filesystem)
        if not await self._store.remove_cache(change, filesystem.id):
            raise FilesystemCacheNotFound(f"nothing was said about the cache of {filesystem.id}")
