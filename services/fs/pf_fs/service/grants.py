"""Sharing filesystems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paddleflow.problems import FilesystemGrantNotFound, UserIsOwner, UserIsRoot, UserNotFound
from pf_fs.domain import ROOT, Access, Filesystem, Grant, GrantChanged, GrantFilter, GrantKey
from pf_fs.fields import is_user
from pf_fs.ports import Users
from pf_fs.service.naming import Naming, seen_by
from pf_fs.store import FilesystemStore
from pf_kit.changes import ChangeKind
from pf_kit.fields import shown
from pf_kit.principal import Principal
from pf_kit.unit import Change, View


class Grants:
    """With whom filesystems are shared, as callers may use it."""

    def __init__(self, *, store: FilesystemStore, naming: Naming, users: Users) -> None:
        self._store = store
        self._naming = naming
        self._users = users

    async def is_known(self, user: str) -> bool:
        """True if there is such a user. Asked before a change, which must not wait for another service."""
        return is_user(user) and await self._users.exists(user)

    async def give(self, change: Change, caller: Principal, key: GrantKey, access: Access, *, known: bool) -> Grant:
        """Shares a filesystem with a user, that is known or not. Raises what GrantFilesystem's contract lists."""
        filesystem = await self._naming.owned(change, caller, key.filesystem_id)
        _require_other(filesystem, key.user, known=known)
        before = await self._store.grant(change, key)
        if before is not None and before.access is access:
            return before
        version = await self._store.next_version(change)
        grant = Grant(key, access, version, before.create_time if before else change.time)
        await self._store.set_grant(change, grant)
        kind = ChangeKind.UPDATED if before else ChangeKind.CREATED
        change.emit(GrantChanged(kind, grant, filesystem, version))
        return grant

    async def take(self, change: Change, caller: Principal, key: GrantKey) -> None:
        """Takes a grant back. Raises what RevokeFilesystem's contract lists."""
        filesystem = await self._naming.owned(change, caller, key.filesystem_id)
        grant = await self._store.grant(change, key) if is_user(key.user) else None
        if grant is None:
            raise FilesystemGrantNotFound(f"{filesystem.id} is not shared with {shown(key.user)}")
        await self._store.remove_grants(change, key.filesystem_id, key.user)
        version = await self._store.next_version(change)
        change.emit(GrantChanged(ChangeKind.DELETED, grant, filesystem, version))

    async def page(self, view: View, caller: Principal, chosen: GrantFilter, after: str, limit: int) -> Sequence[Grant]:
        """The grants after this key that the caller may see."""
        place = GrantKey.parse(after) if after else None
        return await self._store.grants(view, replace(chosen, seen_by=seen_by(caller)), place, limit)


def _require_other(filesystem: Filesystem, user: str, *, known: bool) -> None:
    if user == ROOT:
        raise UserIsRoot("root may use everything; there is nothing to grant")
    if user == filesystem.owner:
        raise UserIsOwner(f"{filesystem.id} belongs to {user}, who may do everything with it")
    if not known:
        raise UserNotFound(f"no user {shown(user)}")
