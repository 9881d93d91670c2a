"""A cached file on the disk.

Its lock says who may do what, among all processes that share a folder: whoever reads holds it shared, and so does the
kernel for what was registered with it, even when the process is gone; whoever fills the file, or removes it, has it
alone. A lock ends with the process, so a file that was left half filled is filled by the next who opens it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pf_fuse.pages.keys import PAGE, Key
from pf_fuse.pages.sheets import SEAL, Sheet, decode, new_sheet, seal

ATTRIBUTE = "user.paddleflow.sheet"
ATTRIBUTE_BYTES = 2048
"""The longest sheet that is an attribute of its file; ext4 has room for about 4,000 bytes. One of a file up to 60 MB is
shorter. Longer ones, and all where there are no attributes, are files of their own.
"""
SHEET = ".sheet"
FLAGS = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
PRIVATE = 0o600
NO_ATTRIBUTE = frozenset({errno.ENODATA, errno.ENOTSUP})


LARGE = 1024 * 1024
"""Bytes from which on it pays to write without a copy: small files are better in the kernel's cache, too."""
SECTOR = 4096
AT_ONCE = 8
"""Pages that are read at once to be checked: disks are slow with less."""
NOT_THROUGH = frozenset({errno.EINVAL, errno.ENOENT, errno.ENOTSUP})


class State(NamedTuple):
    """By which a file that was checked is known again."""

    inode: int
    written: int


class Kept(NamedTuple):
    """What is known of a whole file by whoever has put it there."""

    state: State
    seals: Sequence[int]


UNKNOWN = State(0, 0)
NEW = State(0, 1)
"""Of a file that was made just now."""


def known_by(descriptor: int) -> State:
    info = os.fstat(descriptor)
    return State(info.st_ino, info.st_mtime_ns)


@dataclass(slots=True)
class Stored:
    """A cached file that is open, and locked."""

    descriptor: int
    sheet: Sheet
    alone: bool
    """Nobody else has it: it may be filled."""
    state: State
    """As it was opened."""
    sheet_descriptor: int = -1
    """Of a sheet that is a file."""
    through: int = -1
    """Of the same file, for what is written past the kernel's own cache."""

    def write(self, data: memoryview, offset: int) -> None:
        """Large writes go to the disk without a copy in the kernel, if the memory lies as the disk wants it."""
        at_once = len(data) - len(data) % SECTOR if len(data) >= LARGE else 0
        if at_once and self._write_through(data[:at_once], offset):
            data, offset = data[at_once:], offset + at_once
        _write(self.descriptor, data, offset)

    def _write_through(self, data: memoryview, offset: int) -> bool:
        """False if memory, disk or filesystem are not made for it."""
        try:
            if self.through < 0:
                self.through = os.open(f"/proc/self/fd/{self.descriptor}", os.O_WRONLY | os.O_DIRECT | os.O_CLOEXEC)
            _write(self.through, data, offset)
        except OSError as error:
            if error.errno in NOT_THROUGH:
                return False
            raise
        return True

    def keep(self, first: int, seals: Sequence[int]) -> None:
        """Pages from the first one on are there, and were written before; those whose seal is 0 are there no more."""
        self.sheet.seals[first : first + len(seals)] = array("I", seals)
        if self.sheet_descriptor < 0:
            os.setxattr(self.descriptor, ATTRIBUTE, self.sheet.head + self.sheet.seals.tobytes())
            return
        changed = self.sheet.seals[first : first + len(seals)].tobytes()
        os.pwrite(self.sheet_descriptor, changed, len(self.sheet.head) + SEAL * first)

    def damaged(self, first: int, last: int) -> list[int]:
        """Which of these pages have seals and are not what was sealed."""
        return damaged(self.descriptor, self.sheet, first, last)

    def share(self) -> None:
        """It is whole: others may read it, and nobody writes to it any more."""
        fcntl.flock(self.descriptor, fcntl.LOCK_SH)
        self.alone = False
        if self.through >= 0:
            os.close(self.through)
            self.through = -1

    def claim(self) -> bool:
        """Asks to have it alone; where others have it too it stays readable."""
        if not self.alone:
            self.alone = locked(self.descriptor, fcntl.LOCK_EX)
            # The shared lock was lost by asking for more.
            _ = self.alone or locked(self.descriptor, fcntl.LOCK_SH)
        return self.alone

    def close(self) -> None:
        for descriptor in (self.descriptor, self.sheet_descriptor, self.through):
            if descriptor >= 0:
                os.close(descriptor)


def _write(descriptor: int, data: memoryview, offset: int) -> None:
    while data:
        written = os.pwrite(descriptor, data, offset)
        data, offset = data[written:], offset + written


def locked(descriptor: int, kind: int) -> bool:
    """False if others have it. A lock that was held may be lost then."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def make(path: str, key: Key, size: int, *, attributes: bool) -> Stored | None:
    """A file of which nothing is there; None if somebody else was faster."""
    try:
        descriptor = os.open(path, FLAGS | os.O_CREAT | os.O_EXCL, PRIVATE)
    except FileExistsError:
        return None
    with _closed_on_failure(descriptor):
        if locked(descriptor, fcntl.LOCK_EX):
            made = _begun(descriptor, new_sheet(key, size), path, attributes)
            made.state = NEW
            return made
    os.close(descriptor)
    return None


def find(path: str, key: Key, size: int, *, attributes: bool) -> Stored | None:
    """The file that is there, as far as it is; None if there is none, or if somebody else fills or removes it."""
    return _opened(
        path,
        lambda descriptor: _whole(descriptor, path, key, size) or _partial(descriptor, path, key, size, attributes),
    )


def whole(path: str, key: Key, size: int) -> Stored | None:
    """The file, if all of it is there; nothing is made of what is not whole."""
    return _opened(path, lambda descriptor: _whole(descriptor, path, key, size))


def _opened(path: str, take: Callable[[int], Stored | None]) -> Stored | None:
    """What is taken of a file that is there; what is not taken is closed."""
    try:
        descriptor = os.open(path, FLAGS)
    except FileNotFoundError:
        return None
    with _closed_on_failure(descriptor):
        found = take(descriptor)
    if found is None:
        os.close(descriptor)
    return found


@contextlib.contextmanager
def _closed_on_failure(descriptor: int) -> Iterator[None]:
    try:
        yield
    except OSError:
        os.close(descriptor)
        raise


def _whole(descriptor: int, path: str, key: Key, size: int) -> Stored | None:
    if not locked(descriptor, fcntl.LOCK_SH):
        return None
    info = os.fstat(descriptor)
    if not info.st_nlink or info.st_size != size:
        return None
    found = _read(descriptor, path, key, size)
    if found is None or not found.sheet.whole:
        if found and found.sheet_descriptor >= 0:
            os.close(found.sheet_descriptor)
        return None
    found.state = State(info.st_ino, info.st_mtime_ns)
    return found


def _partial(descriptor: int, path: str, key: Key, size: int, attributes: bool) -> Stored | None:
    if not locked(descriptor, fcntl.LOCK_EX):
        return None
    info = os.fstat(descriptor)
    if not info.st_nlink:
        return None
    found = _read(descriptor, path, key, size) if info.st_size == size else None
    if found is None:
        os.ftruncate(descriptor, 0)
        return _begun(descriptor, new_sheet(key, size), path, attributes)
    found.alone = True
    if found.sheet.whole:
        found.share()
    return found


def _begun(descriptor: int, sheet: Sheet, path: str, attributes: bool) -> Stored:
    """With an empty sheet."""
    made = Stored(descriptor, sheet, True, UNKNOWN)
    if len(sheet.seals) > 1:
        os.ftruncate(descriptor, sheet.size)
    if not attributes or len(sheet.head) + SEAL * len(sheet.seals) > ATTRIBUTE_BYTES:
        made.sheet_descriptor = os.open(path + SHEET, FLAGS | os.O_CREAT | os.O_TRUNC, PRIVATE)
        os.pwrite(made.sheet_descriptor, sheet.head + sheet.seals.tobytes(), 0)
    return made


def _read(descriptor: int, path: str, key: Key, size: int) -> Stored | None:
    """None if there is no sheet, or that of something else."""
    sheet_descriptor = -1
    data = attribute(descriptor)
    if data is None:
        try:
            sheet_descriptor = os.open(path + SHEET, FLAGS)
        except FileNotFoundError:
            return None
        data = os.pread(sheet_descriptor, os.fstat(sheet_descriptor).st_size, 0)
    sheet = decode(data)
    if sheet is None or sheet.key != key or sheet.size != size:
        if sheet_descriptor >= 0:
            os.close(sheet_descriptor)
        return None
    return Stored(descriptor, sheet, False, UNKNOWN, sheet_descriptor)


def attribute(descriptor: int) -> bytes | None:
    """The sheet of a file that is one of its attributes."""
    try:
        return os.getxattr(descriptor, ATTRIBUTE)
    except OSError as error:
        if error.errno in NO_ATTRIBUTE:
            return None
        raise


def damaged(descriptor: int, sheet: Sheet, first: int, last: int) -> list[int]:
    """Which of some pages that follow one another have seals and are not what was sealed."""
    found = []
    for begin in range(first, last, AT_ONCE):
        until = min(begin + AT_ONCE, last)
        data = memoryview(os.pread(descriptor, (until - begin) * PAGE, begin * PAGE))
        for page in range(begin, until):
            part = data[(page - begin) * PAGE : min((page - begin + 1) * PAGE, sheet.size - begin * PAGE)]
            if sheet.seals[page] and (not part or seal(part) != sheet.seals[page]):
                found.append(page)
    return found
