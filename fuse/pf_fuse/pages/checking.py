"""Reading all that is in a folder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from pf_fuse.pages.evicting import found, unlink
from pf_fuse.pages.folder import Folder
from pf_fuse.pages.keys import PAGE, Key
from pf_fuse.pages.sheets import Sheet, decode
from pf_fuse.pages.stored import FLAGS, SHEET, attribute, damaged, locked


@dataclass(frozen=True, slots=True)
class Report:
    """What was found in a cache."""

    files: int = 0
    bytes: int = 0
    """That are as they were written."""
    partial: int = 0
    """Files that are not whole."""
    busy: int = 0
    """Files that somebody fills just now; they were not looked at."""
    removed: int = 0
    """Files that were not as they were written, or of which nothing was known."""

    def __add__(self, other: Report) -> Report:
        return Report(
            self.files + other.files,
            self.bytes + other.bytes,
            self.partial + other.partial,
            self.busy + other.busy,
            self.removed + other.removed,
        )


class Checked(NamedTuple):
    """One file that was looked at."""

    report: Report
    key: Key | None
    """Whose bytes it had, as far as is known."""


def check(folder: Folder) -> Report:
    return sum((each.report for each in check_each(folder)), Report())


def check_each(folder: Folder) -> Iterator[Checked]:
    """Reads what is there, file by file, and removes what is not as it was written."""
    with folder.blamed():
        for each in found(folder):
            # It may have had to go meanwhile.
            with suppress(FileNotFoundError):
                yield _checked(folder, each.name)


def key_of(folder: Folder, name: str) -> Key | None:
    """Whose bytes a cached file has; None if that is not known, or if it is gone."""
    path = folder.file(name)
    with suppress(FileNotFoundError):
        descriptor = os.open(path, FLAGS)
        try:
            sheet = _sheet(descriptor, path)
        finally:
            os.close(descriptor)
        return sheet.key if sheet else None
    return None


def _checked(folder: Folder, name: str) -> Checked:
    path = folder.file(name)
    descriptor = os.open(path, FLAGS)
    try:
        if not locked(descriptor, fcntl.LOCK_SH):
            return Checked(Report(busy=1), None)
        sheet = _sheet(descriptor, path)
        if sheet and sheet.key.name == name and os.fstat(descriptor).st_size == sheet.size:
            size = _sound(descriptor, sheet)
            if size is not None:
                return Checked(Report(files=1, bytes=size, partial=not sheet.whole), sheet.key)
        unlink(path)
        return Checked(Report(removed=1), sheet.key if sheet else None)
    finally:
        os.close(descriptor)


def _sheet(descriptor: int, path: str) -> Sheet | None:
    data = attribute(descriptor)
    if data is None and os.path.exists(path + SHEET):
        with open(path + SHEET, "rb") as file:
            data = file.read()
    return decode(data) if data is not None else None


def _sound(descriptor: int, sheet: Sheet) -> int | None:
    """Bytes that are there, if all are as they were written."""
    if damaged(descriptor, sheet, 0, len(sheet.seals)):
        return None
    there = sum(map(bool, sheet.seals)) * PAGE
    return there - (-sheet.size % PAGE if sheet.seals and sheet.seals[-1] else 0)
