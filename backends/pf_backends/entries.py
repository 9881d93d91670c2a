"""What lies in a backend, and what a backend can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

ROOT = ""
"""The path of the folder that holds all others. Paths are relative to it: names joined by ``/``, no ``..``."""


class Kind(StrEnum):
    """What lies at a path."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, a folder or a link, as it was found."""

    path: str
    kind: Kind
    size: int = 0
    """In bytes; 0 for folders."""
    modified: int = 0
    """When its content changed, in nanoseconds since 1970."""
    version: str = ""
    """Two equal versions of one path are the same bytes. Empty for folders."""
    mode: int | None = None
    """Permissions, without the kind; None where the backend keeps none."""
    owner: tuple[int, int] | None = None
    """User and group; None where the backend keeps none."""
    target: str = ""
    """Where a link leads."""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the things in a folder, or below it."""

    entries: Sequence[Entry]
    rest: str = ""
    """What asks for the following ones; empty at the end."""


class Renames(StrEnum):
    """What a backend can rename at once, seen by everybody before or after and never between."""

    NOTHING = "nothing"
    FILES = "files"
    TREES = "trees"


@dataclass(frozen=True, slots=True)
class Parts:
    """How large files are uploaded in parts, which may be sent at once and in any order."""

    least: int
    """Bytes that each part but the last must have."""
    most: int
    """Bytes that a part may have. As many as `least` where all parts but the last are of one size."""
    count: int
    """Parts of one upload."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a backend can do beyond what each of them must."""

    conditional: bool = False
    """It refuses a write whose condition does not hold any more, without a moment between look and write.

    Others look first and then write: somebody may come between.
    """
    renames: Renames = Renames.NOTHING
    copies: bool = False
    """It copies files by itself."""
    appends: bool = False
    parts: Parts | None = None
    most_put: int | None = None
    """Bytes of a write in one piece."""
    longest: int | None = None
    """Bytes of the path of a file."""
    ordered: bool = False
    """It walks by the bytes of paths; in what order `list` tells of a folder nobody promises."""
    deep: bool = False
    """It walks all below a folder about as fast as what is in one."""
    folders: bool = True
    """Folders are things of their own; otherwise one is there as long as something, or its marker, lies below it."""
    links: bool = False
    modes: bool = False
    """It keeps permissions."""
    owners: bool = False
    attributes: bool = False
    """It keeps extended attributes."""
    byte_names: bool = False
    """Names may be any bytes, not only text in UTF-8."""
    precision: int = 1_000_000_000
    """Nanoseconds between two times of change that it can tell apart."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What must lie at a path for a write to be done; what is empty is not looked at."""

    version: str = ""
    """This version of a file."""
    absent: bool = False
    """Nothing."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a backend is to keep of a file beside its bytes, as far as it can."""

    modified: int | None = None
    mode: int | None = None
    owner: tuple[int, int] | None = None
    attributes: Mapping[str, bytes] | None = None
    """All extended attributes, by their full names: ``user.colour``."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an upload that has arrived."""

    number: int
    """From 1."""
    size: int
    tag: str


@dataclass(frozen=True, slots=True)
class Upload:
    """An upload in parts that was begun and neither finished nor dropped."""

    path: str
    id: str
    begun: int
    """In nanoseconds since 1970."""


@dataclass(frozen=True, slots=True)
class Space:
    """How much room there is, in bytes and things."""

    size: int
    free: int
    things: int
    things_free: int
