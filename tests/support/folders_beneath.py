"""Folders for tests of what is done with files."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from pf_fs.ports import Folder


def folder_of(path: Path) -> Folder:
    """A folder, as a disk finds it."""
    found = path.stat()
    return Folder(PurePosixPath(path), found.st_dev, found.st_ino)


@contextmanager
def opened(path: Path) -> Iterator[int]:
    handle = os.open(path, os.O_PATH | os.O_DIRECTORY)
    try:
        yield handle
    finally:
        os.close(handle)


def handles() -> int:
    """How many this process has open, without those that nobody can reach any more."""
    gc.collect()
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208  # the names of what is open change while they are read


@contextmanager
def nobody() -> Iterator[None]:
    """Without the rights of root, if the tests have them."""
    own = os.geteuid()
    if own == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(own)
