"""What is told of the things on a disk."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from pf_backends.entries import Entry, Facts, Kind
from pf_backends.errors import unsupported
from pf_backends.hidden import OWN
from pf_backends.local.beneath import Top, told
from pf_backends.paths import joined

KINDS = {stat.S_IFREG: Kind.FILE, stat.S_IFDIR: Kind.FOLDER, stat.S_IFLNK: Kind.LINK}
NAMESPACE = "user."
"""Whose extended attributes are kept; the others belong to the machine."""


def version_of(found: os.stat_result) -> str:
    return f"{found.st_ino:x}-{found.st_mtime_ns:x}-{found.st_size:x}"


def entry_of(path: str, found: os.stat_result, target: str = "") -> Entry:
    """What was found; Unsupported if it is a pipe, a socket or a device."""
    kind = KINDS.get(stat.S_IFMT(found.st_mode))
    if kind is None:
        raise unsupported(path, "is neither a file nor a folder nor a link")
    folder = kind is Kind.FOLDER
    return Entry(
        path,
        kind,
        0 if folder else found.st_size,
        found.st_mtime_ns,
        "" if folder else version_of(found),
        stat.S_IMODE(found.st_mode),
        (found.st_uid, found.st_gid),
        target,
    )


def opened_entry(path: str, handle: int) -> Entry:
    """What is told of something that was found, be it open or not."""
    found = os.fstat(handle)
    link = stat.S_ISLNK(found.st_mode)
    return entry_of(path, found, os.readlink("", dir_fd=handle) if link else "")


def facts_of(path: str, handle: int) -> Facts:
    """All that is kept of something that was found beside its bytes."""
    with told(path):
        found, way = os.fstat(handle), way_to(handle)
        attributes: dict[str, bytes] = {}
        if not stat.S_ISLNK(found.st_mode):
            names = [name for name in os.listxattr(way) if name.startswith(NAMESPACE)]
            attributes = {name: os.getxattr(way, name) for name in names}
        return Facts(found.st_mtime_ns, stat.S_IMODE(found.st_mode), (found.st_uid, found.st_gid), attributes)


def way_to(handle: int) -> str:
    """A path that leads to what is held, even if it is only held and not open for reading."""
    return f"/proc/self/fd/{handle}"


def inside(top: Top, folder: str) -> Iterator[Entry]:
    """What is in a folder, in the order of the disk."""
    with top.opened(folder, os.O_RDONLY | os.O_DIRECTORY) as handle, told(folder), os.scandir(handle) as names:
        for item in names:
            entry = _seen(handle, joined(folder, item.name), item)
            if entry is not None:
                yield entry


def _seen(folder: int, path: str, item: os.DirEntry[str]) -> Entry | None:
    """None if it is gone by now, or is nothing to be shown."""
    if item.name.startswith(OWN):
        return None
    try:
        found = item.stat(follow_symlinks=False)
        target = os.readlink(item.name, dir_fd=folder) if stat.S_ISLNK(found.st_mode) else ""
    except FileNotFoundError:
        return None
    return entry_of(path, found, target) if stat.S_IFMT(found.st_mode) in KINDS else None
