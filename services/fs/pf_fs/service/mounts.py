"""How a filesystem is mounted, for one task of one user."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from paddleflow.problems import FilesystemReadOnly
from pf_fs.domain import Access, Filesystem, Key, Opened
from pf_fs.ports import Folder
from pf_fs.service.folders import Folders
from pf_fs.service.naming import Naming, user_of
from pf_fs.urls import place_of
from pf_fs.vault import Vault
from pf_kit.principal import Principal
from pf_kit.unit import View


@dataclass(frozen=True, slots=True)
class Mount:
    """What to mount, and how."""

    filesystem: Filesystem
    source: Folder | Opened
    read_only: bool


class Mounts:
    """Describes mounts."""

    def __init__(self, *, naming: Naming, folders: Folders, vault: Vault) -> None:
        self._naming = naming
        self._folders = folders
        self._vault = vault

    async def describe(
        self, view: View, caller: Principal, key: Key, below: PurePosixPath, *, read_only: bool
    ) -> Mount:
        """The mount of a folder in a filesystem. Raises what DescribeMount's contract lists."""
        # A service that forgot to say for whom it asks would get everything otherwise.
        user_of(caller, "x-paddleflow-on-behalf-of")
        filesystem = await self._naming.find(view, caller, key)
        if await self._naming.access(view, caller, filesystem) is Access.READ:
            _require_reading(caller, filesystem, read_only=read_only)
        return Mount(filesystem, await self._source(filesystem, below), read_only)

    async def _source(self, filesystem: Filesystem, below: PurePosixPath) -> Folder | Opened:
        if not filesystem.kind.remote:
            return await self._folders.open(filesystem, below)
        place = place_of(filesystem.url).below(below)
        return Opened(str(place), filesystem.properties, self._vault.open(filesystem))


def _require_reading(caller: Principal, filesystem: Filesystem, *, read_only: bool) -> None:
    """Raises FilesystemReadOnly if somebody could write who may only read."""
    shared = f"{filesystem.id} is shared with {caller.name} for reading"
    if not read_only:
        raise FilesystemReadOnly(f"{shared}; mount it read-only")
    if filesystem.secrets.names and not caller.acting_service:
        raise FilesystemReadOnly(f"{shared}; its secrets, which could write, are told to services only: use it in jobs")
