"""Making, finding and removing filesystems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from paddleflow.problems import EtagMismatch, PermissionDenied, Problem, UserNotFound
from pf_fs.domain import (
    Filesystem,
    FilesystemChanged,
    FilesystemFilter,
    Key,
    Kind,
)
from pf_fs.paths import local_folder, local_url
from pf_fs.ports import Users
from pf_fs.service.departures import forget
from pf_fs.service.folders import Folders
from pf_fs.service.naming import Naming, seen_by
from pf_fs.store import FilesystemStore
from pf_kit.changes import ChangeKind
from pf_kit.fields import shown
from pf_kit.principal import Principal
from pf_kit.unit import Change, View


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A filesystem that somebody wants to make; its fields are well-formed."""

    owner: str
    name: str
    url: str
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a draft will not do."""

    problem: Problem


class Filesystems:
    """The filesystems, as callers may use them."""

    def __init__(self, *, store: FilesystemStore, naming: Naming, folders: Folders, users: Users) -> None:
        self._store = store
        self._naming = naming
        self._folders = folders
        self._users = users

    async def get(self, view: View, caller: Principal, key: Key) -> Filesystem:
        """The filesystem that the caller means. Raises what GetFilesystem's contract lists."""
        return await self._naming.find(view, caller, key)

    async def page(
        self, view: View, caller: Principal, chosen: FilesystemFilter, after: str, limit: int
    ) -> Sequence[Filesystem]:
        """The filesystems after this id that the caller may see."""
        return await self._store.filesystems(view, replace(chosen, seen_by=seen_by(caller)), after, limit)

    async def judge(self, caller: Principal, draft: Draft) -> Filesystem | Refused:
        """The filesystem to be made, or why there can be none.

        The machine and other services are asked before the change, which must not wait for them; what they say counts
        only in it, since a request that was fulfilled before is answered as then, whatever has become of the folder.
        """
        try:
            await self._require_owner(caller, draft.owner)
            confined, wanted = not caller.root, local_folder(draft.url)
            folder = await self._folders.choose(wanted, draft.owner, confined=confined)
        except Problem as problem:
            return Refused(problem)
        return Filesystem(
            owner=draft.owner,
            name=draft.name,
            url=local_url(wanted),
            kind=Kind.LOCAL,
            folder=folder.path,
            confined=confined,
            properties=draft.properties,
        )

    async def create(self, change: Change, judged: Filesystem | Refused) -> Filesystem:
        """Adds a filesystem. Raises why it was refused, and FilesystemExists."""
        if isinstance(judged, Refused):
            raise judged.problem
        version = await self._store.next_version(change)
        filesystem = replace(judged, version=version, create_time=change.time)
        await self._store.add(change, filesystem)
        change.emit(FilesystemChanged(ChangeKind.CREATED, filesystem, version))
        return filesystem

    async def delete(self, change: Change, caller: Principal, filesystem_id: str, etag: str) -> None:
        """Removes a filesystem and the grants on it. Raises what DeleteFilesystem's contract lists."""
        filesystem = await self._naming.owned(change, caller, filesystem_id)
        if etag and etag != filesystem.etag:
            raise EtagMismatch(f"changed since etag {shown(etag)}: it is {filesystem.etag!r} now; read it again")
        await forget(self._store, change, filesystem)

    async def _require_owner(self, caller: Principal, owner: str) -> None:
        if owner == caller.name:
            return
        if not caller.root:
            raise PermissionDenied("only root makes filesystems for other users")
        if not await self._users.exists(owner):
            raise UserNotFound(f"no user {shown(owner)}")
