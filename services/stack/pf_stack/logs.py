"""The log files of the processes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MAX_BYTES = 10_000_000
"""A file that has grown beyond is put aside."""
KEPT = 3
"""Older files kept of each log."""


@contextmanager
def opened(log: Path) -> Iterator[int]:
    """The log, open for processes to append to."""
    handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield handle
    finally:
        os.close(handle)


def rotate(log: Path) -> None:
    """Puts a log aside that has become large.

    It is copied and emptied, not moved: its process has it open, and appends to the empty file. Lines written between
    the two steps are lost, which is what it costs that no log passes through the supervisor. Nothing changes unless
    there is room for the whole copy.
    """
    if not log.exists() or log.stat().st_size < MAX_BYTES:
        return
    copy = log.with_name(f"{log.name}.partial")
    try:
        shutil.copy2(log, copy)
    except OSError:
        copy.unlink(missing_ok=True)
        raise
    for age in range(KEPT, 1, -1):
        if _aside(log, age - 1).exists():
            _aside(log, age - 1).replace(_aside(log, age))
    copy.replace(_aside(log, 1))
    os.truncate(log, 0)


def _aside(log: Path, age: int) -> Path:
    return log.with_name(f"{log.name}.{age}")
