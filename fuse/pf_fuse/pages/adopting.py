"""Taking a whole file into the cache that lies on the same disk: nothing of it is copied.

Others find it under its name once it is whole: until then it is locked, as one that somebody fills.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from array import array

from pf_fuse.pages.folder import PRIVATE as PRIVATE_FOLDER
from pf_fuse.pages.folder import Folder
from pf_fuse.pages.keys import PAGE, Key
from pf_fuse.pages.sheets import Sheet, seals
from pf_fuse.pages.stored import ATTRIBUTE, ATTRIBUTE_BYTES, PRIVATE, SHEET, State, known_by, locked

_AT_ONCE = 32 * PAGE


def adopt(folder: Folder, key: Key, source: str, descriptor: int) -> State | None:
    """Nobody may write to the file any more; its other name may go. None if it cannot be had, or something is there."""
    with folder.blamed():
        info = os.fstat(descriptor)
        size = info.st_size
        near = info.st_dev == os.stat(folder.path).st_dev
        if not near or folder.has(key.name) or folder.crowded or not folder.takes(size, files=1):
            return None
        if not locked(descriptor, fcntl.LOCK_EX):
            return None
        try:
            _adopt(folder, Sheet(key, size, _sealed(descriptor, size)), source, descriptor)
        except (FileExistsError, FileNotFoundError):
            # Somebody was faster, or has cleared away what was left of it.
            return None
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        return known_by(descriptor)
    return None


def _adopt(folder: Folder, sheet: Sheet, source: str, descriptor: int) -> None:
    path = folder.file(sheet.key.name)
    data = sheet.head + sheet.seals.tobytes()
    inside = folder.attributes and len(data) <= ATTRIBUTE_BYTES
    if inside:
        os.setxattr(descriptor, ATTRIBUTE, data)
    with contextlib.suppress(FileExistsError):
        os.mkdir(os.path.dirname(path), PRIVATE_FOLDER)
    os.link(source, path)
    if not inside:
        # After the file, as that is what says whose it is.
        sheet_descriptor = os.open(path + SHEET, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE)
        with open(sheet_descriptor, "wb") as file:
            file.write(data)


def _sealed(descriptor: int, size: int) -> array[int]:
    found = array("I")
    for start in range(0, size, _AT_ONCE):
        found.extend(seals(memoryview(os.pread(descriptor, _AT_ONCE, start))))
    return found
