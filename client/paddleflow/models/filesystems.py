"""Filesystems: names for files that lie elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypedDict


class FilesystemKind(StrEnum):
    """The kind of place where files lie."""

    UNSPECIFIED = ""
    LOCAL = "local"
    """A folder of the machines."""


class FilesystemAccess(StrEnum):
    """What somebody may do with the files."""

    UNSPECIFIED = ""
    READ = "read"
    READ_WRITE = "read-write"


@dataclass(frozen=True, slots=True)
class Filesystem:
    """A name for files that lie elsewhere."""

    name: str
    url: str
    """For example ``local:///data/images``."""
    owner: str = ""
    """Empty at creation means the caller; only root makes filesystems for others."""
    properties: Mapping[str, str] = field(default_factory=dict)
    id: str = ""
    """Output only."""
    kind: FilesystemKind = FilesystemKind.UNSPECIFIED
    """Output only."""
    create_time: datetime | None = None
    etag: str = ""


@dataclass(frozen=True, slots=True)
class FilesystemGrant:
    """Shares one filesystem with one user."""

    filesystem_id: str
    user: str
    access: FilesystemAccess
    create_time: datetime | None = None


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
