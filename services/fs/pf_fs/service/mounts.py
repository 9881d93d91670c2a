"""How a filesystem is mounted, for one task of one user."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from paddleflow.problems import FilesystemReadOnly
from pf_fs.domain import Access, Filesystem, Key
from pf_fs.ports import Folder
from pf_fs.service.folders import Folders
from pf_fs.service.naming import Naming, user_of
from pf_kit.principal import Principal
from pf_kit.unit import View


@dataclass(frozen=True, slots=True)
class Mount:
    """What to mount, and how."""

    filesystem: Filesystem
    folder: Folder
    read_only: bool


class Mounts:
    """Describes mounts."""

    def __init__(self, *, naming: Naming, folders: Folders) -> None:
        self._naming = naming
        self._folders = folders

    async def describe(
        self, view: View, caller: Principal, key: Key, below: PurePosixPath, *, read_only: bool
    ) -> Mount:
        """The mount of a folder in a filesystem. Raises what DescribeMount's contract lists."""
        # A service that forgot to say for whom it asks would get everything otherwise.
        user_of(caller, "x-paddleflow-on-behalf-of")
        filesystem = await self._naming.find(view, caller, key)
        if not read_only and await self._naming.access(view, caller, filesystem) is Access.READ:
            raise FilesystemReadOnly(f"{filesystem.id} is shared with {caller.name} for reading; mount it read-only")
        return Mount(filesystem, await self._folders.open(filesystem, below), read_only)
