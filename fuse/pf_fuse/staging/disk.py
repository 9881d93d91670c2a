"""The local disk. Its faults are told apart from what a backend answers: they say nothing of what that would take."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class DiskFailed(OSError):
    """The local disk did not take or give what it should; another attempt may succeed."""


@contextmanager
def of_disk() -> Iterator[None]:
    """What fails in the block is a fault of the local disk."""
    try:
        yield
    except OSError as error:
        raise DiskFailed(error.errno, error.strerror, error.filename) from error


def sync_folder(folder: Path) -> None:
    """The names in it are there also when the machine goes down. Blocks."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
