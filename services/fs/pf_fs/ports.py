"""What the service needs of the machine and of its neighbours."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of the machine, as it was found."""

    path: PurePosixPath
    """Nothing in it was a link."""
    device: int
    inode: int


class Disk(Protocol):
    """The folders of the machine."""

    async def real(self, path: PurePosixPath) -> PurePosixPath:
        """The path with all links followed, as far as it exists. Raises FolderUnusable if the disk does not answer."""

    async def look(self, path: PurePosixPath) -> Folder:
        """The folder at a path that has no links. Raises FolderUnusable if there is none, with the real reason."""


class Users(Protocol):
    """Who there is."""

    async def exists(self, name: str) -> bool:
        """True if there is a user of this name. Raises Unavailable if nobody can tell."""

    async def all(self) -> Collection[str]:
        """The names of all. Raises Unavailable if nobody can tell."""
