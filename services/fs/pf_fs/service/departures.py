"""Users who are gone: what they had must not fall to whoever gets their name next."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from pf_fs.domain import Filesystem, FilesystemChanged, FilesystemFilter, Grant, GrantChanged, GrantFilter
from pf_fs.store import ALL, FilesystemStore
from pf_kit.changes import ChangeKind
from pf_kit.departures import departure_entry
from pf_kit.unit import Change

SERVICE = "fs"


async def forget(store: FilesystemStore, change: Change, filesystem: Filesystem) -> None:
    """Removes a filesystem and, before, the grants on it, and tells of each."""
    for grant in await store.remove_grants(change, filesystem.id):
        version = await store.next_version(change)
        change.emit(GrantChanged(ChangeKind.DELETED, grant, filesystem, version))
    await store.remove(change, filesystem.id)
    version = await store.next_version(change)
    change.emit(FilesystemChanged(ChangeKind.DELETED, filesystem, version))


class Departures:
    """Forgets what belongs to users who are gone. The files stay."""

    def __init__(self, *, store: FilesystemStore) -> None:
        self._store = store

    async def drop(self, change: Change, user: str, until: datetime) -> None:
        """Forgets the filesystems of a user and the grants to it; what was made later is that of the next one."""
        for filesystem in await self._store.filesystems(change, FilesystemFilter(owner=user), "", ALL):
            if filesystem.create_time <= until:
                await forget(self._store, change, filesystem)
                _record(change, f"filesystem/{filesystem.id}")
        for grant in await self._store.grants(change, GrantFilter(user=user), None, ALL):
            if grant.create_time <= until:
                await self._take(change, grant)

    async def drop_others(self, change: Change, known: Collection[str], until: datetime) -> None:
        """The same for all who are not among these."""
        for user in sorted(await self._store.users(change) - frozenset(known)):
            await self.drop(change, user, until)

    async def _take(self, change: Change, grant: Grant) -> None:
        filesystem = await self._store.filesystem(change, grant.key.filesystem_id)
        if filesystem is not None:
            await self._store.remove_grants(change, grant.key.filesystem_id, grant.key.user)
            version = await self._store.next_version(change)
            change.emit(GrantChanged(ChangeKind.DELETED, grant, filesystem, version))
            _record(change, f"filesystem-grant/{grant.key}")


def _record(change: Change, subject: str) -> None:
    change.audit(departure_entry(SERVICE, subject))
