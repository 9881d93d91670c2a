"""Where filesystems are mounted, and how what is read there is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

REPORT_SECONDS = 30
"""After which the next report is due."""
SILENT = timedelta(seconds=3 * REPORT_SECONDS)
"""A mount that is silent for longer counts as gone."""
KEPT = timedelta(hours=1)
"""Mounts that are silent for longer are forgotten."""
MOST_MOUNTS = 1000
"""Of one filesystem, by one user."""


class MetaDriver(StrEnum):
    """Where what is known of files is kept."""

    ANY = ""
    MEMORY = "memory"
    DISK = "disk"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """How those who mount a filesystem keep what they have read; what is empty or 0 is theirs to choose."""

    folders: tuple[str, ...] = ()
    meta_driver: MetaDriver = MetaDriver.ANY
    block_size: int = 0
    size: int = 0
    clean: bool = False
    debug: bool = False
    cpu: int = 0
    memory: int = 0
    node_labels: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the cache of a mount holds, and what it has done."""

    folders: tuple[str, ...] = ()
    used_bytes: int = 0
    capacity_bytes: int = 0
    files: int = 0
    hit_bytes: int = 0
    missed_bytes: int = 0
    written_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A place where a filesystem is mounted, as whoever mounted it tells."""

    filesystem_id: str
    mount_id: str
    user: str
    node: str
    path: str
    read_only: bool
    etag: str
    """Of the filesystem, when it was mounted."""
    usage: Usage
    create_time: datetime
    report_time: datetime

    @property
    def place(self) -> MountPlace:
        return MountPlace(self.filesystem_id, self.node, self.user, self.mount_id)

    def after(self, before: Report | None) -> Report:
        """The report in place of the one before."""
        return replace(self, create_time=before.create_time) if before else self


@dataclass(frozen=True, slots=True, order=True)
class MountPlace:
    """By what mounts are listed."""

    filesystem_id: str
    node: str
    user: str
    mount_id: str

    def __str__(self) -> str:
        return "/".join((self.filesystem_id, self.node, self.user, self.mount_id))

    @classmethod
    def parse(cls, text: str) -> MountPlace:
        """The place of such a string; ValueError if it is none."""
        filesystem_id, node, user, mount_id = text.split("/")
        return cls(filesystem_id, node, user, mount_id)


@dataclass(frozen=True, slots=True)
class MountFilter:
    """Which mounts to list; what is empty or None matches all."""

    filesystem_id: str = ""
    node: str = ""
    seen_by: str | None = None
    """Only those of this user, and those of its filesystems."""
