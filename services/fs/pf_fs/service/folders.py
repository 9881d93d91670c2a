"""Folders of the machine: which of them a filesystem may be, and whether they are still what they were."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from paddleflow.problems import FolderNotAllowed, FolderUnusable, PathEscapes
from pf_fs.domain import Kind, Placed
from pf_fs.mounted import NOTHING_MOUNTED, Mounted
from pf_fs.ports import Disk, Folder
from pf_fs.rules import Rules, is_below, roots_of
from pf_fs.urls import Place
from pf_kit.fields import shown


class Folders:
    """Finds folders, and lets nobody have one that is not for it."""

    def __init__(self, *, disk: Disk, rules: Rules, roots: Sequence[str], mounted: Mounted = NOTHING_MOUNTED) -> None:
        """`roots` are set aside for users; `{user}` in one stands for the owner's name."""
        self._disk = disk
        self._rules = rules
        self._roots = tuple(roots)
        self._mounted = mounted

    async def choose(self, place: Place, owner: str, *, confined: bool) -> Folder:
        """The folder that a new filesystem is to be. Raises FolderNotAllowed and FolderUnusable."""
        wanted = self._folder_of(place)
        real = await self._disk.real(wanted)
        # Before anything is said of the folder: who may not have it, need not know whether it exists.
        await self._require_allowed(wanted, real, owner, confined=confined)
        return await self._disk.look(real)

    async def open(self, placed: Placed, below: PurePosixPath) -> Folder:
        """A folder of what lies in one, as it is now. Raises FolderNotAllowed, FolderUnusable and PathEscapes."""
        folder = placed.folder
        if folder is None:
            raise FolderUnusable(f"{placed.called} lies behind a server, not in a folder of this machine")
        if await self._disk.real(folder) != folder:
            raise PathEscapes(f"{shown(str(folder))} was a folder when {placed.called} was made, and is a link now")
        real = await self._disk.real(folder / below)
        if not real.is_relative_to(folder):
            raise PathEscapes(f"{shown(str(below))} leads out of {placed.called}")
        await self._require_allowed(folder, folder, placed.owner, confined=placed.confined)
        await self._require_allowed(folder / below, real, placed.owner, confined=placed.confined)
        return await self._disk.look(real)

    def _folder_of(self, place: Place) -> PurePosixPath:
        folder = place.path if place.kind is Kind.LOCAL else self._mounted.folder(place)
        if folder is None:
            raise FolderUnusable(
                f"{shown(str(place))} is mounted nowhere on this machine; the administrator mounts it, and names the"
                " folder in PF_FS_LOCAL_MOUNTED"
            )
        return folder

    async def _require_allowed(self, wanted: PurePosixPath, real: PurePosixPath, owner: str, *, confined: bool) -> None:
        if (forbidden := self._rules.objection(real)) is not None:
            raise FolderNotAllowed(f"{shown(str(wanted))} lies in or around {forbidden}, which is never shared")
        if not confined:
            return
        roots = roots_of(owner, self._roots)
        if not is_below(real, [await self._disk.real(root) for root in roots]):
            raise FolderNotAllowed(_outside(wanted, roots))


def _outside(wanted: PurePosixPath, roots: Sequence[PurePosixPath]) -> str:
    if not roots:
        return "no folder is set aside for users; root can make this filesystem for you"
    return f"{shown(str(wanted))} does not lie in {' or '.join(map(str, roots))}; root can make it for you"
