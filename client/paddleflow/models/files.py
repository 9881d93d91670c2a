"""Files of filesystems, as users see them without a mount."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class FileKind(StrEnum):
    """What lies at a path."""

    UNSPECIFIED = ""
    REGULAR = "regular"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class FileInfo:
    """What is known of a file, a folder or a link without reading it."""

    path: str
    """In the filesystem."""
    kind: FileKind
    size: int = 0
    modify_time: datetime | None = None
    version: str = ""
    """Two equal versions of one path are the same bytes."""
    target: str = ""
    """Where a link leads."""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class FileRemoval:
    """What one call removed."""

    removed: int
    pending: bool
    """True if more is left: the same call, made again, goes on."""


@dataclass(frozen=True, slots=True)
class FileUpload:
    """An upload that was begun."""

    id: str
    part_size: int
    """Bytes of each part but the last."""
    most_parts: int


@dataclass(frozen=True, slots=True)
class FilePart:
    """A part of an upload that has arrived."""

    number: int
    """From 1."""
    size: int
    tag: str
