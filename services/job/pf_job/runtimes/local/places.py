"""Places below a root, found name by name: a link on the way could lead elsewhere, and who made it is unknown."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

ANYTHING = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
FOLDER = ANYTHING | os.O_DIRECTORY


@contextmanager
def opened(root: str, path: str) -> Iterator[int]:
    """A handle on what lies at a path below a root. Raises OSError, also if a link lies on the way."""
    handle = _walk(root, path, makes=False)
    try:
        yield handle
    finally:
        os.close(handle)


def make_folders(root: str, path: str) -> None:
    """Makes a folder below a root with its parents. Raises OSError, also if a link lies on the way."""
    os.close(_walk(root, path, makes=True))


def name_of(handle: int) -> str:
    """A path that leads to what is open, whatever becomes of the one by which it was found."""
    return f"/proc/self/fd/{handle}"


def _walk(root: str, path: str, *, makes: bool) -> int:
    handle = os.open(root, FOLDER)
    names = path.strip("/").split("/") if path != "/" else []
    for left, name in zip(reversed(range(len(names))), names, strict=True):
        try:
            if makes:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=handle)
            found = _step(handle, name, is_last=not left)
        finally:
            os.close(handle)
        handle = found
    return handle


def _step(folder: int, name: str, *, is_last: bool) -> int:
    handle = os.open(name, ANYTHING if is_last else FOLDER, dir_fd=folder)
    if stat.S_ISLNK(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.ELOOP, "it is a link", name)
    return handle
