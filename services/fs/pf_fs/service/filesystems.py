"""Making, finding and removing filesystems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from paddleflow.problems import EtagMismatch, PermissionDenied, Problem, UserNotFound
from pf_fs.domain import (
    UNLIMITED,
    Filesystem,
    FilesystemChanged,
    FilesystemFilter,
    Key,
    Quota,
    bound_to,
)
from pf_fs.mounts.store import MountStore
from pf_fs.ports import Use, Users, Uses
from pf_fs.service.departures import forget
from pf_fs.service.mounted import require_unmounted, require_unused
from pf_fs.service.naming import Naming, seen_by
from pf_fs.service.settling import Settling, Wish
from pf_fs.store import FilesystemStore
from pf_fs.urls import Place
from pf_kit.changes import ChangeKind
from pf_kit.fields import shown
from pf_kit.principal import Principal
from pf_kit.unit import Change, View


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A filesystem that somebody wants to make; its fields are well-formed."""

    owner: str
    name: str
    place: Place
    properties: Mapping[str, str] = field(repr=False)
    """Secrets among them."""
    quota: Quota = UNLIMITED


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a draft will not do."""

    problem: Problem


class Filesystems:
    """The filesystems, as callers may use them."""

    def __init__(
        self,
        *,
        store: FilesystemStore,
        mounts: MountStore,
        naming: Naming,
        settling: Settling,
        users: Users,
        uses: Uses,
    ) -> None:
        self._store = store
        self._mounts = mounts
        self._naming = naming
        self._settling = settling
        self._users = users
        self._uses = uses

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

        The machine, servers and other services are asked before the change, which must not wait for them; what they say
        counts only in it, since a request that was fulfilled before is answered as then, whatever became of the folder.
        """
        try:
            await self._require_owner(caller, draft.owner)
            return await self._settled(draft, confined=not caller.root)
        except Problem as problem:
            return Refused(problem)

    async def create(self, change: Change, judged: Filesystem | Refused) -> Filesystem:
        """Adds a filesystem. Raises why it was refused, and FilesystemExists."""
        if isinstance(judged, Refused):
            raise judged.problem
        version = await self._store.next_version(change)
        filesystem = replace(judged, version=version, create_time=change.time)
        await self._store.add(change, filesystem)
        change.emit(FilesystemChanged(ChangeKind.CREATED, filesystem, version))
        return filesystem

    async def uses(self, view: View, caller: Principal, filesystem_id: str) -> Sequence[Use] | Problem:
        """What uses it, to be asked before the change that deletes it, which must not wait for others.

        Nobody is asked where the caller may not delete it: the change says so, unless it was made before.
        """
        try:
            await self._naming.owned(view, caller, filesystem_id)
        except Problem as problem:
            return problem
        return await self._uses.of(filesystem_id)

    async def delete(
        self, change: Change, caller: Principal, filesystem_id: str, etag: str, uses: Sequence[Use] | Problem
    ) -> None:
        """Removes a filesystem and the grants on it. Raises what DeleteFilesystem's contract lists."""
        filesystem = await self._naming.owned(change, caller, filesystem_id)
        require_etag(etag, filesystem)
        await require_unmounted(self._mounts, change, filesystem)
        require_unused(filesystem, uses)
        await forget(self._store, change, filesystem)

    async def _settled(self, draft: Draft, *, confined: bool) -> Filesystem:
        wish = Wish(draft.place, draft.owner, confined, draft.properties)
        settled = await self._settling.settle(wish, bound_to(draft.owner, draft.name))
        return Filesystem(
            owner=draft.owner,
            name=draft.name,
            url=str(draft.place),
            kind=draft.place.kind,
            folder=settled.folder,
            confined=confined,
            properties=settled.properties,
            secrets=settled.secrets,
            quota=draft.quota,
        )

    async def _require_owner(self, caller: Principal, owner: str) -> None:
        if owner == caller.name:
            return
        if not caller.root:
            raise PermissionDenied("only root makes filesystems for other users")
        if not await self._users.exists(owner):
            raise UserNotFound(f"no user {shown(owner)}")


def require_etag(etag: str, filesystem: Filesystem) -> None:
    """Raises EtagMismatch if the caller expects another state than the one that is stored."""
    if etag and etag != filesystem.etag:
        raise EtagMismatch(f"changed since etag {shown(etag)}: it is {filesystem.etag!r} now; read it again")
