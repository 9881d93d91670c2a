"""Reading all that is in a folder."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass

from pf_fuse.pages.evicting import found, unlink
from pf_fuse.pages.folder import Folder
from pf_fuse.pages.keys import PAGE
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


def check(folder: Folder) -> Report:
    report = Report()
    with folder.blamed():
        for each in found(folder):
            report += _checked(folder, each.name)
    return report


def _checked(folder: Folder, name: str) -> Report:
    path = folder.file(name)
    descriptor = os.open(path, FLAGS)
    try:
        if not locked(descriptor, fcntl.LOCK_SH):
            return Report(busy=1)
        sheet = _sheet(descriptor, path)
        if sheet and sheet.key.name == name and os.fstat(descriptor).st_size == sheet.size:
            size = _sound(descriptor, sheet)
            if size is not None:
                return Report(files=1, bytes=size, partial=not sheet.whole)
        unlink(path)
        return Report(removed=1)
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
