"""What lies at paths, and pieces of it."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath

from paddleflow.problems import FileUnusable
from pf_fs.files.beneath import found, readable, told
from pf_fs.files.domain import FileKind, Piece, Range, Stat
from pf_fs.paths import sub_path
from pf_kit.fields import shown

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST = datetime(1, 1, 2, tzinfo=UTC)
_LATEST = datetime(9999, 12, 31, tzinfo=UTC)


def look(folder: int, path: PurePosixPath) -> Stat:
    """What lies at a path. Raises what `found` does."""
    with found(folder, path) as handle:
        seen = os.fstat(handle)
        return Stat(kind_of(seen), seen.st_size if stat.S_ISREG(seen.st_mode) else 0, _time(seen.st_mtime_ns))


def read(folder: int, wanted: Range) -> Piece:
    """A piece of a regular file. Raises what `found` does."""
    path = sub_path(wanted.path)
    with found(folder, path) as handle, told(path):
        require_regular(path, os.fstat(handle))
        with readable(handle) as opened:
            return Piece(_pread(opened, wanted), os.fstat(opened).st_size)


def kind_of(seen: os.stat_result) -> FileKind:
    match stat.S_IFMT(seen.st_mode):
        case stat.S_IFREG:
            return FileKind.REGULAR
        case stat.S_IFDIR:
            return FileKind.FOLDER
        case stat.S_IFLNK:
            return FileKind.LINK
        case _:
            return FileKind.OTHER


def require_regular(path: PurePosixPath, seen: os.stat_result) -> None:
    """Raises FileUnusable if it is anything but a regular file."""
    match kind_of(seen):
        case FileKind.REGULAR:
            return
        case FileKind.FOLDER:
            raise FileUnusable(f"{shown(str(path))} is a folder, and a file is wanted")
        case _:
            raise FileUnusable(f"{shown(str(path))} is a device, a pipe or a socket, and a file is wanted")


def _pread(opened: int, wanted: Range) -> bytes:
    pieces, left, offset = list[bytes](), wanted.length, wanted.offset
    while left and (piece := os.pread(opened, left, offset)):
        pieces.append(piece)
        left, offset = left - len(piece), offset + len(piece)
    return b"".join(pieces)


def _time(nanoseconds: int) -> datetime:
    """Files may claim to be of any year; a message holds four digits of one."""
    try:
        return min(max(_EPOCH + timedelta(microseconds=nanoseconds // 1000), _EARLIEST), _LATEST)
    except OverflowError:
        return _LATEST if nanoseconds > 0 else _EARLIEST
