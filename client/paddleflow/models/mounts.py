"""Where filesystems are mounted, how what is read there is kept, and what is linked into them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypedDict

from paddleflow.models.filesystems import FilesystemKind, FilesystemQuota


class MetaDriver(StrEnum):
    """Where what is known of files is kept."""

    UNSPECIFIED = ""
    """As whoever mounts likes."""
    MEMORY = "memory"
    DISK = "disk"


@dataclass(frozen=True, slots=True)
class FilesystemCache:
    """How those who mount a filesystem keep what they have read; what is empty or 0 is theirs to choose."""

    folders: Sequence[str] = ()
    """Of the machine."""
    meta_driver: MetaDriver = MetaDriver.UNSPECIFIED
    block_size: int = 0
    """Bytes that are fetched at once at least: a power of two from 64 KiB to 64 MiB."""
    size: int = 0
    """Bytes on one machine."""
    clean: bool = False
    """True: the cache is emptied when the mount ends."""
    debug: bool = False
    cpu: int = 0
    """Thousandths of a core."""
    memory: int = 0
    """Bytes."""
    node_labels: Mapping[str, str] = field(default_factory=dict)
    """Of machines that are better for tasks with this filesystem."""
    extra: Mapping[str, str] = field(default_factory=dict)
    """More options for whoever mounts."""
    filesystem_id: str = ""
    """Output only."""


@dataclass(frozen=True, slots=True)
class LocalFolder:
    """A folder of the machine, as the service found it."""

    path: str
    device: int
    inode: int


@dataclass(frozen=True, slots=True)
class RemoteFolder:
    """A folder behind a server, and what opens it."""

    url: str
    properties: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class MountDescription:
    """How to get at the files of a filesystem, for one task. It may hold secrets."""

    filesystem_id: str
    read_only: bool
    source: LocalFolder | RemoteFolder
    etag: str = ""
    """Of the filesystem: a mount with another one is out of date."""
    links: Mapping[str, LocalFolder | RemoteFolder] = field(default_factory=dict)
    """Folders of the mount, and the places whose files are in them."""
    cache: FilesystemCache = field(default_factory=FilesystemCache)
    quota: FilesystemQuota = field(default_factory=FilesystemQuota)


@dataclass(frozen=True, slots=True)
class CacheUsage:
    """What the cache of a mount holds, and what it has done since it was mounted."""

    folders: Sequence[str] = ()
    used_bytes: int = 0
    capacity_bytes: int = 0
    files: int = 0
    hit_bytes: int = 0
    missed_bytes: int = 0
    written_bytes: int = 0


@dataclass(frozen=True, slots=True)
class MountReport:
    """A place where a filesystem is mounted."""

    mount_id: str
    """Chosen by whoever mounts."""
    node: str
    path: str
    read_only: bool = False
    etag: str = ""
    """Of the filesystem, when it was mounted."""
    usage: CacheUsage = CacheUsage()
    filesystem_id: str = ""
    """Output only."""
    user: str = ""
    """Output only. Whose mount it is."""
    create_time: datetime | None = None
    report_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class ReportReceipt:
    """What the service answers to a report."""

    next_seconds: int
    """After which the next report is due."""
    etag: str
    """Of the filesystem now: another one than that of the mount says that the mount is out of date."""
    quota: FilesystemQuota = field(default_factory=FilesystemQuota)
    """Of the filesystem now: the mount holds it from now on."""


class MountFilter(TypedDict, total=False):
    """Which mounts to list; filters that are given must all match."""

    name: str
    """Only mounts of the filesystem of this name."""
    owner: str
    """Whose that filesystem is; the caller's if it is not given."""
    node: str


@dataclass(frozen=True, slots=True)
class FilesystemLink:
    """A folder of a filesystem in which the files of another place are."""

    path: str
    """Where in the filesystem."""
    url: str
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    """At creation with secrets among them; those are never told."""
    filesystem_id: str = ""
    """Output only."""
    kind: FilesystemKind = FilesystemKind.UNSPECIFIED
    """Output only."""
    create_time: datetime | None = None
    secret_properties: Sequence[str] = ()
    """Output only. The names of the properties that are secrets and set."""
