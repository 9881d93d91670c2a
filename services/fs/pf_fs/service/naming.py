"""Which filesystem a caller means, and whether it may see it."""

from __future__ import annotations

from collections.abc import Sequence

from paddleflow.problems import (
    FilesystemAmbiguous,
    FilesystemNotFound,
    FilesystemNotGranted,
    InvalidArgument,
    PermissionDenied,
    Violation,
)
from pf_fs.domain import Access, Filesystem, FilesystemFilter, GrantKey, Key, id_of
from pf_fs.fields import is_id
from pf_fs.store import FilesystemStore
from pf_kit.fields import shown
from pf_kit.principal import Principal, PrincipalKind
from pf_kit.unit import View

CANDIDATES = 10
"""That many are named where a name is not enough."""


def own_id(caller: Principal, key: Key) -> str:
    """The id of the filesystem that is named, where a name without an owner means the caller's own."""
    return key.id or id_of(key.owner or user_of(caller, "filesystem.owner"), key.name)


def user_of(caller: Principal, field: str) -> str:
    """The user that the caller is; InvalidArgument, for a field that would have to be given, if it is none."""
    if caller.kind is not PrincipalKind.USER:
        raise InvalidArgument.of(Violation(field, f"must be given, because {caller.label} is no user"))
    return caller.name


def seen_by(caller: Principal) -> str | None:
    """By whom a filesystem has to be seen; None for everybody, who is root."""
    return None if caller.root else caller.name


class Naming:
    """Finds filesystems by the words of callers."""

    def __init__(self, *, store: FilesystemStore) -> None:
        self._store = store

    async def find(self, view: View, caller: Principal, key: Key) -> Filesystem:
        """The filesystem that the caller means, and may see.

        Raises FilesystemNotFound, FilesystemNotGranted and FilesystemAmbiguous.
        """
        if key.name and not key.owner:
            return await self._by_name(view, caller, key.name)
        filesystem = await self.existing(view, own_id(caller, key))
        await self.access(view, caller, filesystem)
        return filesystem

    async def owned(self, view: View, caller: Principal, filesystem_id: str) -> Filesystem:
        """The filesystem of this id, if the caller may change it. Raises FilesystemNotFound and PermissionDenied."""
        filesystem = await self.existing(view, filesystem_id)
        if not caller.root and caller.name != filesystem.owner:
            raise PermissionDenied(f"{filesystem.id} belongs to {filesystem.owner}; only its owner and root change it")
        return filesystem

    async def existing(self, view: View, filesystem_id: str) -> Filesystem:
        """The filesystem of this id. Raises FilesystemNotFound."""
        found = await self._store.filesystem(view, filesystem_id) if is_id(filesystem_id) else None
        if found is None:
            raise FilesystemNotFound(f"no filesystem {shown(filesystem_id)}")
        return found

    async def access(self, view: View, caller: Principal, filesystem: Filesystem) -> Access:
        """What the caller may do with the files. Raises FilesystemNotGranted."""
        if caller.root or caller.name == filesystem.owner:
            return Access.READ_WRITE
        grant = await self._store.grant(view, GrantKey(filesystem.id, caller.name))
        if grant is None:
            owner = filesystem.owner
            raise FilesystemNotGranted(f"{filesystem.id} is not shared with {caller.name}; ask {owner} or root for it")
        return grant.access

    async def _by_name(self, view: View, caller: Principal, name: str) -> Filesystem:
        if caller.kind is PrincipalKind.USER and is_id(own := id_of(caller.name, name)):
            filesystem = await self._store.filesystem(view, own)
            if filesystem is not None:
                return filesystem
        shared = await self._shared(view, caller, name)
        match shared:
            case []:
                raise FilesystemNotFound(f"{caller.name} has no filesystem {shown(name)}, and none is shared with it")
            case [only]:
                return only
            case _:
                raise _ambiguous(name, shared)

    async def _shared(self, view: View, caller: Principal, name: str) -> Sequence[Filesystem]:
        # Every owner's name makes an id of it, so any will do to tell whether the name is one.
        if not is_id(id_of("user", name)):
            return []
        chosen = FilesystemFilter(name=name, seen_by=seen_by(caller))
        return await self._store.filesystems(view, chosen, "", CANDIDATES + 1)


def _ambiguous(name: str, shared: Sequence[Filesystem]) -> FilesystemAmbiguous:
    named = [f"{filesystem.owner}/{filesystem.name}" for filesystem in shared[:CANDIDATES]]
    more = ["…"] if len(shared) > CANDIDATES else []
    return FilesystemAmbiguous(f"several filesystems {shown(name)} are shared with you: {', '.join(named + more)}")
