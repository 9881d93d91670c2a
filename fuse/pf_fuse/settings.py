"""What a mount is told when it is begun: read from its standard input, as it has secrets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from pf_fuse.holder.messages import VERSION
from pf_fuse.kernel.features import LINUX

S = TypeVar("S")

GIB = 1 << 30
MOST_PORTERS = 64


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


class RenewalSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A program that tells what a filesystem is now, when keys have expired: in JSON, with ``answer`` around it."""

    command: Sequence[str]
    told: Mapping[str, Any] = {}
    """What it gets on its standard input, in JSON."""


class SourceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Files that are used without a mount, and where what is read of them is kept."""

    url: str
    """Where the files lie."""
    cache: CacheSettings
    properties: Mapping[str, str] = {}
    """Of the backend, with its secrets."""
    links: Sequence[LinkSettings] = ()
    read_only: bool = False


class CarrySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What is to be brought into a cache as it is ordered."""

    source: SourceSettings
    renewal: RenewalSettings | None = None


class WarmSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What is to be brought into a cache."""

    source: SourceSettings
    paths: Sequence[str]
    """Files, and folders with all below them."""
    at_once: int = 8
    """Requests under way."""


class CheckSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A cache that is to be read as a whole."""

    cache: CacheSettings


class CollectSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A cache from which is to be removed what nobody can use any more."""

    cache: CacheSettings
    sources: Sequence[SourceSettings]
    """All filesystems that may be used here; what is of no other is removed."""
    dry_run: bool = False
    uploads_before: int = 0
    """In nanoseconds since 1970: uploads in parts that were begun before are dropped; 0: none are."""


class TakeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A snapshot that is to be taken."""

    source: SourceSettings
    to: str
    """A file of this machine, or after a colon one of the source."""
    at_once: int = 16
    """Folders that are listed at once."""


class IndexSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A snapshot that is to be made ready for a mount."""

    snapshot: Path
    index: Path


class QuotaSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much may lie somewhere; None: any amount."""

    bytes: int | None = None
    files: int | None = None


class ClientsSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Clients that come by themselves, as where they are pods."""

    socket: Path
    """Where they come."""
    user: int
    """Who may come, beside root."""


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
    snapshot: str = ""
    """Of the dataset: a file of this machine, or after a colon one of what is mounted; empty: the backend is asked."""
    lasts: float = 1.0
    """Seconds for which names and attributes are taken for true without asking."""
    uid: int = 0
    gid: int = 0
    """Whose things are where the backend keeps no owners."""
    owned: bool = False
    """All things are theirs, also where the backend keeps owners: who may do what, its server decides."""
    shared: bool = False
    """The group may read and write all things, whatever the backend keeps of permissions."""
    file_mode: int = 0o644
    folder_mode: int = 0o755
    porters: int | None = None
    """Processes that fetch small files beside the one that serves the mount; None: by the processors of the machine."""
    writeback: int | None = None
    """Bytes that may be closed and not uploaded: who closes a file waits for the disk; None: for the upload."""
    writeback_age: float = 300.0
    """Seconds after which whoever closes a file waits again, as long as something is not uploaded that is so old."""
    quota: int | None = None
    """Bytes that may lie in what is mounted, as far as this mount knows; None: no limit."""
    quota_files: int | None = None
    """Files, likewise."""
    filesystem_quota: QuotaSettings = QuotaSettings()
    """What may lie there by all mounts; it may be told anew while it is mounted."""
    linux: str = ""
    """An older kernel, of which no more is used than it had; empty for this one."""
    source: str = "paddleflow"
    """What `df` shows."""
    renewal: RenewalSettings | None = None
    """Where keys come from when those of `properties` have expired; None: from nowhere."""
    clients: ClientsSettings | None = None
    """Who serves the mount; None: this program does."""
    checked: bool = False
    """Whoever begins it has asked just now, and what lies there answers."""
    metrics: str = ""
    """``[HOST:]PORT`` at which Prometheus may ask; empty: nowhere."""

    @property
    def writable(self) -> bool:
        return not self.read_only and not self.dataset

    def check(self) -> None:
        """ValueError if it cannot be meant so."""
        if not self.cache.folders:
            raise ValueError("cache.folders: there must be at least one")
        if not self.place.is_absolute() or not self.state.is_absolute():
            raise ValueError("place and state: paths must be absolute")
        if self.snapshot and not self.dataset:
            raise ValueError("snapshot: only a dataset is mounted as it was")
        if self.linux and self.linux not in LINUX:
            raise ValueError(f"linux: one of {', '.join(LINUX)}")
        if self.porters is not None and not 0 <= self.porters <= MOST_PORTERS:
            raise ValueError(f"porters: from 0 to {MOST_PORTERS}")
        limits = (self.quota, self.quota_files, self.filesystem_quota.bytes, self.filesystem_quota.files)
        if min(limit or 0 for limit in limits) < 0:
            raise ValueError("quota: there cannot be less than nothing")
        if (self.writeback is not None and self.writeback < 0) or self.writeback_age < 0:
            raise ValueError("writeback: there cannot be less than nothing")
        if self.lasts < 0:
            raise ValueError("lasts: seconds cannot be negative")


def read_settings(data: bytes) -> MountSettings:
    """The settings of a mount; ValueError as of `read`, and if it cannot be meant so."""
    settings = read(data, MountSettings)
    settings.check()
    return settings


def read(data: bytes, kind: type[S]) -> S:
    """The settings of a document in JSON; ValueError says what is wrong and never shows a value."""
    try:
        return msgspec.json.decode(data, type=kind, dec_hook=_path)
    except msgspec.DecodeError as error:
        newer = f"; this is version {VERSION}, and a newer one may know it" * ("unknown field" in str(error))
        raise ValueError(f"the settings are malformed: {error}{newer}") from None


def _path(kind: type, value: object) -> Path:
    """The only kind of value that JSON does not know."""
    if kind is not Path or not isinstance(value, str) or not value or "\0" in value:
        raise ValueError("a path is a text that is not empty")
    return Path(value)
