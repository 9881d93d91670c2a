"""What artifacts need of others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from paddleflow.problems import Problem
from pf_kit.changes import UNBORN
from pf_pipeline.artifacts.domain import Period, Table
from pf_pipeline.documents.model import CacheMode


@dataclass(frozen=True, slots=True)
class Ask:
    """Files of one filesystem, in the name of one user."""

    user: str
    filesystem_id: str
    since: datetime = UNBORN
    """When the user was added; who was given the name later is not asked for. UNBORN: whoever has it."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one file: FileNotFound, FileUnusable, PathEscapes or FolderNotAllowed."""

    problem: Problem


@dataclass(frozen=True, slots=True)
class Pending:
    """There is more to do than one call does: the same, asked again, goes on."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The beginning of a file."""

    data: bytes
    size: int
    """Of the whole file."""


class Files(Protocol):
    """Files in filesystems.

    Any number of paths may be asked for; results come in their order. What is wrong with one path is a Fault of its
    own. UserNotFound is raised if the user is there no more. What is wrong with a filesystem is raised:
    FilesystemNotFound, FilesystemNotGranted, FilesystemReadOnly, FolderNotAllowed, FolderUnusable or PathEscapes;
    Unavailable and DeadlineExceeded if nobody can tell.
    """

    async def exist(self, ask: Ask, paths: Sequence[str]) -> Sequence[bool | Fault]:
        """Whether there is something at paths."""

    async def read(self, ask: Ask, paths: Sequence[str], longest: int) -> Sequence[Piece | Fault]:
        """The beginnings of regular files, at most so many bytes of each, and no more than 1 MiB."""

    async def digest(self, ask: Ask, paths: Sequence[str], mode: CacheMode) -> Sequence[str | Pending | Fault]:
        """What files, and folders with all in them, are told by: equal digests mean equal files."""

    async def prepare(self, ask: Ask, paths: Sequence[str]) -> Sequence[Fault | Pending | None]:
        """Makes the folders in which paths lie, so that steps of the user can write there, and removes what lies at
        the paths. None: it is done.
        """

    async def remove(self, ask: Ask, paths: Sequence[str]) -> Sequence[Fault | Pending | None]:
        """Removes what lies at paths, with all in it. None: it is done, or there was nothing."""


class Tables(Protocol):
    """Tables as files."""

    def parquet(self, table: Table, period: Period) -> AsyncIterator[bytes]:
        """A table as a Parquet file, piece by piece."""
