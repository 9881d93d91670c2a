"""How a filesystem is mounted, for one task of one user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from paddleflow.problems import FilesystemReadOnly
from pf_fs.domain import Access, Filesystem, Key, Opened, Placed
from pf_fs.links.domain import Link, around, below
from pf_fs.links.store import LinkStore
from pf_fs.mounts.domain import Cache
from pf_fs.mounts.store import MountStore
from pf_fs.ports import Folder
from pf_fs.service.naming import Naming, user_of
from pf_fs.service.settling import Settling
from pf_kit.principal import Principal
from pf_kit.unit import View


@dataclass(frozen=True, slots=True)
class Mount:
    """What to mount, and how."""

    filesystem: Filesystem
    source: Folder | Opened
    links: Sequence[tuple[PurePosixPath, Folder | Opened]]
    """Folders in it with the files of other places."""
    cache: Cache | None
    read_only: bool


class Mounts:
    """Describes mounts."""

    def __init__(self, *, naming: Naming, links: LinkStore, mounts: MountStore, settling: Settling) -> None:
        self._naming = naming
        self._links = links
        self._mounts = mounts
        self._settling = settling

    async def describe(
        self, view: View, caller: Principal, key: Key, folder: PurePosixPath, *, read_only: bool
    ) -> Mount:
        """The mount of a folder in a filesystem. Raises what DescribeMount's contract lists."""
        # A service that forgot to say for whom it asks would get everything otherwise.
        user_of(caller, "x-paddleflow-on-behalf-of")
        filesystem = await self._naming.find(view, caller, key)
        mount = await self._opened(view, filesystem, folder, read_only=read_only)
        if await self._naming.access(view, caller, filesystem) is Access.READ:
            _require_reading(caller, mount)
        return mount

    async def reach(self, view: View, caller: Principal, key: Key, *, write: bool) -> Mount:
        """A whole filesystem, for what this service does with it itself for somebody who may.

        Raises what FileManagerService lists of filesystems.
        """
        user_of(caller, "x-paddleflow-on-behalf-of")
        filesystem = await self._naming.find(view, caller, key)
        if write and await self._naming.access(view, caller, filesystem) is Access.READ:
            raise FilesystemReadOnly(f"{filesystem.id} is shared with {caller.name} for reading")
        return await self._opened(view, filesystem, PurePosixPath(), read_only=not write)

    async def _opened(self, view: View, filesystem: Filesystem, folder: PurePosixPath, *, read_only: bool) -> Mount:
        links = await self._links.links(view, filesystem.id)
        top, rest = _top(filesystem, links, folder)
        inner = [] if top is not filesystem else below(folder, links)
        return Mount(
            filesystem,
            await self._settling.open(top, rest),
            [(path, await self._settling.open(link, PurePosixPath())) for path, link in inner],
            await self._mounts.cache(view, filesystem.id),
            read_only,
        )


def _top(filesystem: Filesystem, links: Sequence[Link], folder: PurePosixPath) -> tuple[Placed, PurePosixPath]:
    """The place in which a folder of a filesystem lies, and where in it."""
    link = around(folder, links)
    return (link, folder.relative_to(link.path)) if link else (filesystem, folder)


def _require_reading(caller: Principal, mount: Mount) -> None:
    """Raises FilesystemReadOnly if somebody could write who may only read."""
    shared = f"{mount.filesystem.id} is shared with {caller.name} for reading"
    if not mount.read_only:
        raise FilesystemReadOnly(f"{shared}; mount it read-only")
    sources = (mount.source, *(source for _, source in mount.links))
    if any(isinstance(each, Opened) and each.secrets for each in sources) and not caller.acting_service:
        raise FilesystemReadOnly(f"{shared}; its secrets, which could write, are told to services only: use it in jobs")
