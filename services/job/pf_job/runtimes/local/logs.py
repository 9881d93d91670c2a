"""Logs of replicas, read where they lie. For threads: the calls wait for the disk."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from paddleflow.problems import NotFound
from pf_job.runtimes.local import layout, records, timeindex
from pf_job.runtimes.local.keeper import beginning
from pf_job.runtimes.local.records import Book
from pf_job.runtimes.port import LogRange


def read(folder: Path, offset: int, size: int) -> LogRange:
    """Raises NotFound."""
    # Asked first: if it is over by now, there is nothing after what is found next.
    book = _book(folder)
    try:
        handle = os.open(folder / layout.LOG, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError as problem:
        raise NotFound(f"there is no log in {folder.name}") from problem
    try:
        return _range(handle, offset, size, book)
    finally:
        os.close(handle)


def _range(handle: int, offset: int, size: int, book: Book) -> LogRange:
    written = os.fstat(handle).st_size
    limit = book.record.log if book.record else None
    start = max(0, offset + written if offset < 0 else offset, _kept_from(handle, written, limit))
    data = os.pread(handle, size, start)
    # What was given back meanwhile was read as zeros.
    kept_from = _kept_from(handle, written, limit)
    if kept_from > start:
        data, start = data[kept_from - start :], kept_from
    return LogRange(offset=start, data=data, end=_is_over(book) and start + len(data) >= written, kept_from=kept_from)


def _kept_from(handle: int, written: int, limit: int | None) -> int:
    """The first byte that was not given back, or is not about to be. The replica may do with the file as it likes: by a
    hole it could make a log of millions of gigabytes, which nobody shall look through.
    """
    beyond = 0 if limit is None else max(0, beginning(written, limit))
    try:
        return max(beyond, os.lseek(handle, 0, os.SEEK_DATA))
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
    return _is_over(_book(folder))


def _book(folder: Path) -> Book:
    try:
        return records.read((folder / layout.RECORD).read_bytes())
    except FileNotFoundError:
        # A replica that is just being started has a log before it has a record.
        return Book(forgotten=not (folder / layout.LOG).exists())


def _is_over(book: Book) -> bool:
    return book.ending is not None or book.forgotten
