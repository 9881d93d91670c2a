"""Filesystems, with whom they are shared, and what can happen to both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Protocol

from pf_kit.changes import UNBORN, ChangeKind

ROOT = "root"
"""The user that may do everything."""


class Kind(StrEnum):
    """The kinds of places that are served; the values are the schemes of their URLs."""

    LOCAL = "local"
    S3 = "s3"
    BOS = "bos"
    HDFS = "hdfs"
    SFTP = "sftp"
    CFS = "cfs"
    GLUSTERFS = "glusterfs"
    AFS = "afs"

    @property
    def remote(self) -> bool:
        """True if its files lie behind a server that is called, False if in a folder of the machine."""
        return self in (Kind.S3, Kind.BOS, Kind.HDFS, Kind.SFTP)


class Access(StrEnum):
    """What somebody may do with the files."""

    READ = "read"
    READ_WRITE = "read_write"


def id_of(owner: str, name: str) -> str:
    """The id of a user's filesystem. It tells both, since no user has a `-` in its name."""
    return f"fs-{owner}-{name}"


def owner_of(filesystem_id: str) -> str:
    """Whose filesystem has this id."""
    return filesystem_id.split("-")[1]


@dataclass(frozen=True, slots=True)
class Secrets:
    """Those properties that nobody is told, sealed."""

    names: tuple[str, ...]
    """In their order."""
    key: str
    """Tells the key that they are sealed with; empty if there are none."""
    data: bytes = field(repr=False)


SEALED_NOTHING = Secrets((), "", b"")


@dataclass(frozen=True, slots=True)
class Quota:
    """How much may lie in a filesystem; 0: any number."""

    bytes: int = 0
    files: int = 0


UNLIMITED = Quota()


def bound_to(owner: str, name: str) -> tuple[str, ...]:
    """What the secrets of a user's filesystem are sealed for."""
    return ("filesystem", owner, id_of(owner, name))


class Placed(Protocol):
    """Something whose files lie elsewhere."""

    @property
    def called(self) -> str:
        """For messages."""

    @property
    def owner(self) -> str:
        """Whose it is."""

    @property
    def url(self) -> str:
        """Where the files lie."""

    @property
    def kind(self) -> Kind:
        """What kind of place that is."""

    @property
    def folder(self) -> PurePosixPath | None:
        """Where the URL led when it was made: absolute and without links. None if it lies behind a server."""

    @property
    def confined(self) -> bool:
        """True if its folder has to be one of those for users; False if root made it."""

    @property
    def properties(self) -> Mapping[str, str]:
        """Without those that are secrets."""

    @property
    def secrets(self) -> Secrets:
        """The others, sealed."""

    @property
    def bound_to(self) -> tuple[str, ...]:
        """What its secrets are sealed for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filesystem:
    """A name for files that lie elsewhere. Fulfils `Placed`."""

    owner: str
    name: str
    url: str
    kind: Kind
    folder: PurePosixPath | None
    confined: bool
    properties: Mapping[str, str] = field(default_factory=dict)
    secrets: Secrets = SEALED_NOTHING
    quota: Quota = UNLIMITED
    """Mounts hold it."""
    create_time: datetime = UNBORN
    version: int = 0
    """No number is given out twice, also over deletion and creation anew."""

    @property
    def id(self) -> str:
        return id_of(self.owner, self.name)

    @property
    def called(self) -> str:
        return self.id

    @property
    def bound_to(self) -> tuple[str, ...]:
        return bound_to(self.owner, self.name)

    @property
    def etag(self) -> str:
        return f"{self.version:x}"


@dataclass(frozen=True, slots=True)
class Opened:
    """All that opens a place behind a server."""

    url: str
    properties: Mapping[str, str]
    """Without those that are secrets."""
    secrets: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Key:
    """How a caller names a filesystem: by its id alone, or by its name, with or without its owner."""

    id: str = ""
    owner: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True, order=True)
class GrantKey:
    """What makes a grant unique."""

    filesystem_id: str
    user: str

    def __str__(self) -> str:
        return f"{self.filesystem_id}/{self.user}"

    @classmethod
    def parse(cls, text: str) -> GrantKey:
        """The key of such a string; ValueError if it is none."""
        filesystem_id, user = text.split("/")
        return cls(filesystem_id, user)


@dataclass(frozen=True, slots=True)
class Grant:
    """Shares one filesystem with one user."""

    key: GrantKey
    access: Access
    version: int
    create_time: datetime


@dataclass(frozen=True, slots=True)
class FilesystemFilter:
    """Which filesystems to list; what is empty or None matches all."""

    owner: str = ""
    name: str = ""
    name_prefix: str = ""
    seen_by: str | None = None
    """Only those that this user owns or that are shared with it."""


@dataclass(frozen=True, slots=True)
class GrantFilter:
    """Which grants to list; what is empty or None matches all."""

    filesystem_id: str = ""
    user: str = ""
    seen_by: str | None = None
    """Only those to this user, and those on its filesystems."""


@dataclass(frozen=True, slots=True)
class FilesystemChanged:
    """Something happened to a filesystem."""

    kind: ChangeKind
    filesystem: Filesystem
    """The filesystem after it; for a deletion, before it."""
    version: int


@dataclass(frozen=True, slots=True)
class GrantChanged:
    """Something happened to a grant."""

    kind: ChangeKind
    grant: Grant
    filesystem: Filesystem
    version: int
