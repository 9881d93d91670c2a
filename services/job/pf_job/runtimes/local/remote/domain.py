"""What a filesystem behind a server is mounted as, and which replicas share a mount."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pf_job.runtimes.port import Place, Remote

LOCAL = "local://"


@dataclass(frozen=True, slots=True)
class Cache:
    """Where this machine keeps what jobs read of filesystems."""

    folders: Sequence[Path]
    size: int | None = None
    """Bytes in all; None: what the disks have room for."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A mount that replicas of a tenant want."""

    remote: Remote
    tenant: str
    user: int
    """Whom they run as."""

    @property
    def name(self) -> str:
        """The same for all who share the mount. It tells no secret: a filesystem with other ones has another etag."""
        remote = self.remote
        links = {path: place.url for path, place in remote.links.items()}
        parts = [remote.filesystem, remote.etag, remote.place.url, links, remote.read_only, self.tenant, self.user]
        return blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=12).hexdigest()


@dataclass(frozen=True, slots=True)
class About:
    """What is written down of a mount, for whoever looks after it next."""

    filesystem: str
    etag: str
    tenant: str
    read_only: bool


def settings_of(
    wanted: Wanted, place: Path, state: Path, cache: Cache, renewal: Mapping[str, Any] | None
) -> Mapping[str, Any]:
    """What the client of the mount is told, secrets among it."""
    remote = wanted.remote
    sizes = [size for size in (cache.size, remote.cache_size) if size]
    return {
        "place": str(place),
        **opening_of(remote),
        "state": str(state),
        "cache": {"folders": [str(folder) for folder in cache.folders], "size": min(sizes, default=None)},
        "readOnly": remote.read_only,
        "uid": wanted.user,
        "gid": wanted.user,
        "filesystemQuota": dict(remote.quota),
        # Folders of the machine have owners who mean something to it.
        "owned": not any(link.url.startswith(LOCAL) for link in remote.links.values()),
        "source": f"paddleflow:{remote.filesystem}",
        "renewal": renewal,
    }


def opening_of(remote: Remote) -> Mapping[str, Any]:
    """What opens the files, secrets among it."""
    links = [{"path": path, **_source(link)} for path, link in remote.links.items()]
    return {**_source(remote.place), "links": links}


def _source(place: Place) -> Mapping[str, Any]:
    return {"url": place.url, "properties": dict(place.properties)}
