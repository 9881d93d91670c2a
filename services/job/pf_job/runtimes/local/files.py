"""Small files that are whole or not there, and folders emptied to the ground."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import suppress

PRIVATE = 0o600


def put(folder: int, name: str, data: bytes) -> None:
    """Writes a file into an open folder, so that after any crash it is there with all of this, or not at all."""
    partial = f"{name}.partial"
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE, dir_fd=folder)
    try:
        if os.write(handle, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)
        os.fsync(handle)
    finally:
        os.close(handle)
    os.rename(partial, name, src_dir_fd=folder, dst_dir_fd=folder)
    os.fsync(folder)


def add(folder: int, name: str, line: bytes, *, lasting: bool) -> None:
    """Adds a line to a file. A lasting one is there after any crash; another one if the machine keeps its power."""
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, PRIVATE, dir_fd=folder)
    try:
        before = os.fstat(handle).st_size
        if os.write(handle, line) < len(line):
            # What comes next must begin a line.
            os.ftruncate(handle, before)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)
        if lasting:
            os.fsync(handle)
    finally:
        os.close(handle)


def get(folder: int, name: str) -> bytes | None:
    try:
        handle = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return None
    with os.fdopen(handle, "rb") as file:
        return file.read()


def exists(folder: int, name: str) -> bool:
    return os.access(name, os.F_OK, dir_fd=folder, follow_symlinks=False)


def read_all(handle: int) -> bytes:
    """All that comes out of a handle until its end."""
    pieces = iter(lambda: os.read(handle, 65_536), b"")
    return b"".join(pieces)


def open_folder(path: str, within: int | None = None) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=within)


def remove_tree(folder: int, name: str) -> None:
    """Removes a folder with all that is in it. What cannot be removed stays."""
    try:
        top = open_folder(name, folder)
    except OSError:
        return
    try:
        empty(top)
    finally:
        os.close(top)
    with suppress(OSError):
        os.rmdir(name, dir_fd=folder)


def empty(top: int) -> None:
    """Removes all that is in an open folder, however deep: what lies deeper is moved up first."""
    numbers = iter(range(2**62))
    while names := os.listdir(top):
        before = len(names)
        lifted = sum(_lift(top, name, numbers) for name in names)
        if not lifted and len(os.listdir(top)) >= before:
            return


def _entered(name: str, within: int) -> int:
    """Opens a folder whose owner may have closed it to itself. A link that has taken its place is not followed."""
    place = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=within)
    try:
        os.chmod(f"/proc/self/fd/{place}", 0o700)
        return open_folder(".", place)
    finally:
        os.close(place)


def _lift(top: int, name: str, numbers: Iterator[int]) -> int:
    """Removes an entry; of a folder that is not empty, moves the folders in it to the top. How many it moved."""
    with suppress(OSError):
        os.unlink(name, dir_fd=top)
        return 0
    with suppress(OSError):
        inner = _entered(name, top)
        try:
            moved = sum(_lift_one(inner, entry, top, f".lifted-{next(numbers)}") for entry in os.listdir(inner))
        finally:
            os.close(inner)
        with suppress(OSError):
            os.rmdir(name, dir_fd=top)
        return moved
    return 0


def _lift_one(inner: int, entry: str, top: int, lifted: str) -> int:
    with suppress(OSError):
        os.unlink(entry, dir_fd=inner)
        return 0
    with suppress(OSError):
        os.close(_entered(entry, inner))
        os.rename(entry, lifted, src_dir_fd=inner, dst_dir_fd=top)
        return 1
    return 0
