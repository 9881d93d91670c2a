"""Faults of the local disk, told apart from what a backend answers: they say nothing of what that would take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class DiskFailed(OSError):
    """The local disk did not take or give what it should; another attempt may succeed."""


@contextmanager
def of_disk() -> Iterator[None]:
    """What fails in the block is a fault of the local disk."""
    try:
        yield
    except OSError as error:
        raise DiskFailed(error.errno, error.strerror, error.filename) from error
