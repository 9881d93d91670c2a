"""Logs of replicas, read where they lie. For threads: the calls wait for the disk."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from paddleflow.problems import NotFound
from pf_job.runtimes.local import layout, records, timeindex
from pf_job.runtimes.port import LogRange


def read(folder: Path, offset: int, size: int) -> LogRange:
    """Raises NotFound."""
    # Asked first: if it is over by now, there is nothing after what is found next.
    over = is_over(folder)
    try:
        handle = os.open(folder / layout.LOG, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError as problem:
        raise NotFound(f"there is no log in {folder.name}") from problem
    try:
        return _range(handle, offset, size, over)
    finally:
        os.close(handle)


def _range(handle: int, offset: int, size: int, over: bool) -> LogRange:
    written = os.fstat(handle).st_size
    start = max(0, offset + written if offset < 0 else offset, _kept_from(handle, written))
    data = os.pread(handle, size, start)
    # What was given back meanwhile was read as zeros.
    kept_from = _kept_from(handle, written)
    if kept_from > start:
        data, start = data[kept_from - start :], kept_from
    return LogRange(offset=start, data=data, end=over and start + len(data) >= written, kept_from=kept_from)


def _kept_from(handle: int, written: int) -> int:
    """The first byte that was not given back."""
    try:
        return os.lseek(handle, 0, os.SEEK_DATA)
    except OSError as problem:
        if problem.errno == errno.ENXIO:
            return written
        raise


def offset_at(folder: Path, time: int) -> int:
    """Raises NotFound."""
    try:
        written = (folder / layout.LOG).stat().st_size
    except FileNotFoundError as problem:
        raise NotFound(f"there is no log in {folder.name}") from problem
    try:
        marks = timeindex.decode((folder / layout.INDEX).read_bytes())
    except FileNotFoundError:
        marks = []
    if is_over(folder) and marks and time > marks[-1].time:
        return written
    return min(written, timeindex.find(marks, time))


def size(folder: Path) -> int:
    """How much was written; 0 if there is no log."""
    try:
        return (folder / layout.LOG).stat().st_size
    except FileNotFoundError:
        return 0


def is_over(folder: Path) -> bool:
    try:
        book = records.read((folder / layout.RECORD).read_bytes())
    except FileNotFoundError:
        # A replica that is just being started has a log before it has a record.
        return not (folder / layout.LOG).exists()
    return book.ending is not None or book.forgotten
