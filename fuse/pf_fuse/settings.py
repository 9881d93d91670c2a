"""What a mount is told when it is begun: read from its standard input, as it has secrets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

GIB = 1 << 30


class CacheSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Where and how much is kept on the local disk."""

    folders: Sequence[Path]
    size: int | None = None
    """Bytes in all; None: as much as the disks have room for, but for a reserve."""
    memory: int = 256 << 20
    """Bytes that are fetched and not yet read, or waiting to be written to the cache."""


class LinkSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A folder of the mount in which the files of another place are."""

    path: str
    """Relative to the mount."""
    url: str
    properties: Mapping[str, str] = {}


class MountSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """One mount."""

    place: Path
    """The folder at which it is mounted."""
    url: str
    """Where the files lie."""
    state: Path
    """A folder of this mount alone: what is written and not uploaded, and what the next process must know."""
    cache: CacheSettings
    properties: Mapping[str, str] = {}
    """Of the backend, with its secrets."""
    links: Sequence[LinkSettings] = ()
    read_only: bool = False
    dataset: bool = False
    """Nobody changes what lies there as long as it is mounted."""
    lasts: float = 1.0
    """Seconds for which names and attributes are taken for true without asking."""
    uid: int = 0
    gid: int = 0
    """Whose things are where the backend keeps no owners."""
    owned: bool = False
    """All things are theirs, also where the backend keeps owners: who may do what, its server decides."""
    file_mode: int = 0o644
    folder_mode: int = 0o755
    source: str = "paddleflow"
    """What `df` shows."""

    @property
    def writable(self) -> bool:
        return not self.read_only and not self.dataset

    def check(self) -> None:
        """ValueError if it cannot be meant so."""
        if not self.cache.folders:
            raise ValueError("cache.folders: there must be at least one")
        if not self.place.is_absolute() or not self.state.is_absolute():
            raise ValueError("place and state: paths must be absolute")
        if self.lasts < 0:
            raise ValueError("lasts: seconds cannot be negative")


def read_settings(data: bytes) -> MountSettings:
    """The settings of a document in JSON; ValueError says what is wrong and never shows a value."""
    try:
        settings = msgspec.json.decode(data, type=MountSettings, dec_hook=_path)
    except msgspec.ValidationError as error:
        raise ValueError(f"the settings of the mount are malformed: {error}") from None
    settings.check()
    return settings


def _path(kind: type, value: object) -> Path:
    """The only kind of value that JSON does not know."""
    if kind is not Path or not isinstance(value, str) or not value or "\0" in value:
        raise ValueError("a path is a text that is not empty")
    return Path(value)
