"""What `stat` tells of a thing."""

from __future__ import annotations

import stat
from dataclasses import dataclass

from pf_backends.entries import Entry, Kind
from pf_fuse.operations import Attributes

_KINDS = {Kind.FILE: stat.S_IFREG, Kind.FOLDER: stat.S_IFDIR, Kind.LINK: stat.S_IFLNK}
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Look:
    """How things look of which the backend does not keep that; what is kept comes before it."""

    uid: int
    gid: int
    since: int
    """The time of what has none, in nanoseconds since 1970."""
    file_mode: int = 0o644
    folder_mode: int = 0o755
    owned: bool = False
    """Whatever the backend keeps of owners, all things are this user's."""
    shared: bool = False
    """Whatever the backend keeps of permissions, the group may do what the owner may, and read and write."""


def attributes(node: int, entry: Entry, look: Look) -> Attributes:
    uid, gid = (None if look.owned else entry.owner) or (look.uid, look.gid)
    time = entry.modified or look.since
    return Attributes(
        node=node,
        mode=_KINDS[entry.kind] | _permissions(entry, look),
        size=len(entry.target.encode(errors="surrogateescape")) if entry.kind is Kind.LINK else entry.size,
        uid=uid,
        gid=gid,
        modified=time,
        changed=time,
        accessed=time,
        # Of folders 1 tells programs such as find that the number says nothing of the folders inside.
        links=1,
        blocks=-(-entry.size // _BLOCK),
    )


def _permissions(entry: Entry, look: Look) -> int:
    mode = _own_permissions(entry, look)
    return mode | 0o060 | (mode & 0o700) >> 3 if look.shared else mode


def _own_permissions(entry: Entry, look: Look) -> int:
    if entry.mode is not None:
        return entry.mode
    if entry.kind is Kind.FILE:
        return look.file_mode
    return look.folder_mode if entry.kind is Kind.FOLDER else 0o777
