"""Filesystems: names for files that lie elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypedDict


class FilesystemKind(StrEnum):
    """The kind of place where files lie."""

    UNSPECIFIED = ""
    LOCAL = "local"
    """A folder of the machines."""
    S3 = "s3"
    BOS = "bos"
    HDFS = "hdfs"
    SFTP = "sftp"
    CFS = "cfs"
    GLUSTERFS = "glusterfs"
    AFS = "afs"


class FilesystemAccess(StrEnum):
    """What somebody may do with the files."""

    UNSPECIFIED = ""
    READ = "read"
    READ_WRITE = "read-write"


@dataclass(frozen=True, slots=True)
class FilesystemQuota:
    """How much may lie in a filesystem, as far as its mounts know; 0: any amount."""

    bytes: int = 0
    files: int = 0


@dataclass(frozen=True, slots=True)
class Filesystem:
    """A name for files that lie elsewhere."""

    name: str
    url: str
    """For example ``local:///data/images`` or ``s3://bucket/images``."""
    owner: str = ""
    """Empty at creation means the caller; only root makes filesystems for others."""
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    """At creation with secrets among them; those are never told."""
    id: str = ""
    """Output only."""
    kind: FilesystemKind = FilesystemKind.UNSPECIFIED
    """Output only."""
    create_time: datetime | None = None
    etag: str = ""
    secret_properties: Sequence[str] = ()
    """Output only. The names of the properties that are secrets and set."""
    quota: FilesystemQuota = FilesystemQuota()


@dataclass(frozen=True, slots=True)
class FilesystemGrant:
    """Shares one filesystem with one user."""

    filesystem_id: str
    user: str
    access: FilesystemAccess
    create_time: datetime | None = None


class FilesystemQuotaChanges(TypedDict, total=False):
    """New amounts of a quota; those that are not given stay."""

    bytes: int
    files: int


class FilesystemFilter(TypedDict, total=False):
    """Which filesystems to list; filters that are given must all match."""

    owner: str
    name_prefix: str


class FilesystemGrantFilter(TypedDict, total=False):
    """Which grants to list; filters that are given must all match."""

    name: str
    """Only grants on the filesystem of this name."""
    owner: str
    """Whose that filesystem is; the caller's if it is not given."""
    user: str
    """Only grants to this user."""
