"""Whose files may be read and changed by whom."""

from __future__ import annotations

from pathlib import PurePosixPath

from paddleflow.problems import FilesystemReadOnly
from pf_fs.domain import Access, Key
from pf_fs.ports import Folder
from pf_fs.service.folders import Folders
from pf_fs.service.mounts import Mount, Mounts
from pf_fs.service.naming import Naming, user_of
from pf_kit.principal import Principal
from pf_kit.unit import View


class Entrance:
    """Lets services at the files of those in whose name they call."""

    def __init__(self, *, naming: Naming, folders: Folders, mounts: Mounts) -> None:
        self._naming = naming
        self._folders = folders
        self._mounts = mounts

    async def open(self, view: View, caller: Principal, key: Key, *, write: bool) -> Folder | Mount:
        """The folder of a filesystem, or what opens it, for a user who may read or change what is in it.

        Raises what StatFiles and MakeFolders list.
        """
        # A service that forgot to say for whom it asks would get everything otherwise.
        user_of(caller, "x-paddleflow-on-behalf-of")
        filesystem = await self._naming.find(view, caller, key)
        if write and await self._naming.access(view, caller, filesystem) is Access.READ:
            raise FilesystemReadOnly(f"{filesystem.id} is shared with {caller.name} for reading")
        if filesystem.kind.remote:
            return await self._mounts.reach(view, caller, key, write=write)
        return await self._folders.open(filesystem, PurePosixPath())
