"""What can be done with links.

Methods that take a `Change` are one step of it: whoever calls them holds the lock of filesystems.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from paddleflow.problems import LinkExists, LinkNotFound, LinkNotPossible, Problem, TooManyLinks
from pf_fs.domain import Filesystem, FilesystemChanged, Key
from pf_fs.links.domain import MOST_LINKS, Link, bound_to, in_the_way
from pf_fs.links.store import LinkStore
from pf_fs.ports import Servers
from pf_fs.service.filesystems import Refused
from pf_fs.service.naming import Naming
from pf_fs.service.settling import Settling, Wish
from pf_fs.store import FilesystemStore
from pf_fs.urls import Place
from pf_kit.changes import ChangeKind
from pf_kit.fields import shown
from pf_kit.principal import Principal
from pf_kit.unit import Change, View


@dataclass(frozen=True, slots=True)
class LinkDraft:
    """A link that somebody wants to make; its fields are well-formed."""

    path: PurePosixPath
    place: Place
    properties: Mapping[str, str] = field(repr=False)
    """Secrets among them."""


class Links:
    """The links, as callers may use them."""

    def __init__(
        self,
        *,
        store: LinkStore,
        filesystems: FilesystemStore,
        naming: Naming,
        settling: Settling,
        servers: Servers,
    ) -> None:
        self._store = store
        self._filesystems = filesystems
        self._naming = naming
        self._settling = settling
        self._servers = servers

    async def judge(self, view: View, caller: Principal, filesystem_id: str, draft: LinkDraft) -> Link | Refused:
        """The link to be made, or why there can be none. Servers are asked before the change."""
        try:
            filesystem = await self._naming.owned(view, caller, filesystem_id)
            await self._require_possible(filesystem, await self._store.links(view, filesystem.id), draft.path)
            wish = Wish(draft.place, filesystem.owner, not caller.root, draft.properties)
            settled = await self._settling.settle(wish, bound_to(filesystem.id, draft.path))
        except Problem as problem:
            return Refused(problem)
        return Link(
            filesystem_id=filesystem.id,
            path=draft.path,
            url=str(draft.place),
            kind=draft.place.kind,
            folder=settled.folder,
            confined=wish.confined,
            properties=settled.properties,
            secrets=settled.secrets,
        )

    async def create(self, change: Change, caller: Principal, judged: Link | Refused) -> Link:
        """Adds a link. Raises why it was refused, LinkExists and TooManyLinks."""
        if isinstance(judged, Refused):
            raise judged.problem
        filesystem = await self._naming.owned(change, caller, judged.filesystem_id)
        links = await self._store.links(change, filesystem.id)
        _require_free(links, judged.path)
        if len(links) >= MOST_LINKS:
            raise TooManyLinks(f"{filesystem.id} has {MOST_LINKS} links; remove some")
        link = replace(judged, create_time=change.time)
        await self._store.add(change, link)
        await self._tell(change, filesystem)
        return link

    async def get(self, view: View, caller: Principal, key: Key, path: PurePosixPath) -> Link:
        """The link at a path. Raises what GetLink's contract lists."""
        found = await self.all(view, caller, key)
        if (link := next((each for each in found if each.path == path), None)) is None:
            raise LinkNotFound(f"there is no link at {shown(str(path))}")
        return link

    async def all(self, view: View, caller: Principal, key: Key) -> Sequence[Link]:
        """The links of a filesystem. Raises what ListLinks' contract lists."""
        filesystem = await self._naming.find(view, caller, key)
        return await self._store.links(view, filesystem.id)

    async def delete(self, change: Change, caller: Principal, filesystem_id: str, path: PurePosixPath) -> None:
        """Removes a link. Raises what DeleteLink's contract lists."""
        filesystem = await self._naming.owned(change, caller, filesystem_id)
        if not await self._store.remove(change, filesystem.id, path):
            raise LinkNotFound(f"there is no link at {shown(str(path))}")
        await self._tell(change, filesystem)

    async def _require_possible(self, filesystem: Filesystem, links: Sequence[Link], path: PurePosixPath) -> None:
        if not filesystem.kind.remote:
            raise LinkNotPossible(f"{filesystem.id} is a folder of the machines, and has no links; mount both")
        _require_free(links, path)
        if await self._servers.is_occupied(self._settling.opened(filesystem), str(path)):
            raise LinkNotPossible(f"there is something at {shown(str(path))}, and it is no empty folder")

    async def _tell(self, change: Change, filesystem: Filesystem) -> None:
        """Whoever has mounted it learns by its etag that it is another one."""
        version = await self._filesystems.next_version(change)
        changed = replace(filesystem, version=version)
        await self._filesystems.update(change, changed)
        change.emit(FilesystemChanged(ChangeKind.UPDATED, changed, version))


def _require_free(links: Sequence[Link], path: PurePosixPath) -> None:
    if other := in_the_way(path, links):
        raise LinkExists(f"there is a link at {shown(str(other.path))}; links do not lie in one another")
