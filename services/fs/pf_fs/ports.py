"""What the service needs of the machine and of its neighbours."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol

from paddleflow.problems import Problem
from pf_fs.domain import Opened
from pf_fs.files.domain import Digest, DigestMode, Done, Fault, Pending, Piece, Range, Stat


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


class Servers(Protocol):
    """The servers behind which files lie."""

    async def check(self, opened: Opened) -> None:
        """Sees that files can be listed there. Raises ServerNotAllowed, ServerUnusable and Overloaded."""

    async def is_occupied(self, opened: Opened, path: str) -> bool:
        """True if there is something at a path that is no empty folder. Raises the same."""


class Users(Protocol):
    """Who there is."""

    async def exists(self, name: str) -> bool:
        """True if there is a user of this name. Raises Unavailable if nobody can tell."""

    async def all(self) -> Collection[str]:
        """The names of all. Raises Unavailable if nobody can tell."""


@dataclass(frozen=True, slots=True)
class Use:
    """Something that uses a filesystem."""

    kind: str
    """As people call it: a job, a run, a schedule."""
    id: str
    owner: str


class Uses(Protocol):
    """Those who do something with filesystems."""

    async def of(self, filesystem_id: str) -> Sequence[Use] | Problem:
        """Some of what uses a filesystem, or why that cannot be told."""


class FilesAt(Protocol):
    """What lies in one filesystem.

    Paths are relative to it and well-formed. Results come in the order in which paths are given. All raise what is
    wrong with the whole: FolderUnusable if a folder does not answer, PathEscapes if it is another one, ServerUnusable
    if a server cannot be used.
    """

    async def stat(self, paths: Sequence[str]) -> Sequence[Stat | Fault]:
        """What lies at paths."""

    async def read(self, ranges: Sequence[Range]) -> Sequence[Piece | Fault]:
        """Pieces of regular files."""

    async def digest(self, paths: Sequence[str], mode: DigestMode) -> Sequence[Digest | Pending | Fault]:
        """The digests of files, and of folders with all in them."""

    async def make(self, paths: Sequence[str]) -> Sequence[Done | Pending | Fault]:
        """Makes folders, and those above them."""

    async def remove(self, paths: Sequence[str]) -> Sequence[Done | Pending | Fault]:
        """Removes what lies at paths."""

    async def prepare(self, paths: Sequence[str]) -> Sequence[Done | Pending | Fault]:
        """Makes the folders in which paths lie, and removes what lies at the paths."""
