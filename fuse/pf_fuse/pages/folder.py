"""One folder of a cache, on one disk.

What fails in it never fails a reader: a folder whose disk is gone, read-only or broken is left alone for a while, and
one that is full takes nothing more until there is room.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from pf_fuse.pages.keys import Key
from pf_fuse.pages.room import Bounds, Held, bounds
from pf_fuse.pages.sheets import seals
from pf_fuse.pages.stored import ATTRIBUTE, Stored, find, known_by, make, whole

INSIDE = "pages.1"
"""The folder's part that is the cache's; the number is that of the format."""
PRIVATE = 0o700
AGAIN = 30.0
"""Seconds after which a folder that failed is tried again."""
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
OURS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Failures that say nothing of the disk."""
LOOK = 64 * 1024 * 1024
"""Bytes after which the disk is asked again how much is free."""


NOTHING = Held(0, 0)


@dataclass(frozen=True, slots=True)
class FolderStats:
    """How a folder of the cache is doing."""

    path: str
    bytes: int
    files: int
    most: int
    free: int
    removed: int
    """Files that had to go, since the process began."""
    trouble: str
    """Why it is not used; empty if it is."""


class Blame:
    """Holds failures of a disk against its folder."""

    __slots__ = ("_folder",)

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, OSError):
            self._folder.fail(error)
        return isinstance(error, OSError)


class Folder:
    """One folder of a cache."""

    def __init__(self, path: str, most: int | None, files: int, sharers: int, clock: Callable[[], float]) -> None:
        self.path = os.path.join(path, INSIDE)
        self.held = NOTHING
        """What is in it, as far as this process knows: what it put there, until it has counted."""
        self.removed = 0
        """Files that had to go."""
        self._refused = NOTHING
        """What there was no room for."""
        self._most, self._files, self._sharers = most, files, sharers
        self._clock = clock
        self._lock = threading.Lock()
        self._free = 0
        self._unseen = 0
        """Bytes that were written since the disk was asked."""
        self._failed: tuple[float, OSError] | None = None
        self.attributes = False
        """Its files have extended attributes."""
        self.bounds = Bounds(0, 0, 0)
        self._beginning = threading.Lock()
        self._begun = False
        """It is there, and known."""

    def usable(self) -> bool:
        """False while it is left alone."""
        if self._begun and not self._failed:
            return True
        with self._beginning:
            if self._failed and self._clock() >= self._failed[0] + AGAIN:
                self._failed, self._begun = None, False
            if not self._begun and not self._failed:
                with self.blamed():
                    self._begin()
                    self._begun = True
        return self._failed is None

    def blamed(self) -> Blame:
        """Failures of the disk inside are held against the folder, and against nobody else."""
        return Blame(self)

    def fail(self, error: OSError) -> None:
        if error.errno in FULL:
            self._free = 0
        elif error.errno not in OURS:
            self._failed = (self._clock(), error)

    def find(self, name: str, key: Key, size: int) -> Stored | None:
        with self.blamed():
            return find(self.file(name), key, size, attributes=self.attributes)
        return None

    def make(self, name: str, key: Key, size: int) -> Stored | None:
        path = self.file(name)
        with self.blamed():
            try:
                return make(path, key, size, attributes=self.attributes)
            except FileNotFoundError:
                # Another thread, or process, may be faster.
                with contextlib.suppress(FileExistsError):
                    os.mkdir(os.path.dirname(path), PRIVATE)
                return make(path, key, size, attributes=self.attributes)
        return None

    def put(self, key: Key, data: memoryview) -> Stored | None:
        """All of a new file, which is open; None if it cannot be kept, or something is there."""
        stored = self.make(key.name, key, len(data))
        if stored is None:
            return None
        with self.blamed():
            try:
                stored.write(data, 0)
                stored.keep(0, seals(data))
                stored.share()
                stored.state = known_by(stored.descriptor)
            except OSError:
                stored.close()
                raise
            return stored
        return None

    def sound(self, name: str, key: Key, size: int) -> Stored | None:
        """A file that is whole, and was read and found to be as it was written; None if there is none."""
        with self.blamed():
            stored = whole(self.file(name), key, size)
            if stored is None:
                return None
            try:
                if not stored.damaged(0, len(stored.sheet.seals)):
                    return stored
            except OSError:
                stored.close()
                raise
            stored.close()
        return None

    def has(self, name: str) -> bool:
        """True if something is there, whole or not."""
        return os.path.exists(self.file(name))

    def file(self, name: str) -> str:
        return f"{self.path}/{name[:2]}/{name}"

    def takes(self, size: int, *, files: int) -> bool:
        """True if there is room for more; it counts as taken then."""
        with self._lock:
            self._unseen += size
            if self._unseen > LOOK or not self._free:
                with self.blamed():
                    self._look()
            held = self.held
            if not self.bounds.allow(held.bytes + size, held.files + files, self._free - size):
                self._refused = Held(size, files)
                return False
            self._free -= size
            self.held = Held(held.bytes + size, held.files + files)
            return True

    def gave(self, held: Held) -> None:
        """So much was removed."""
        with self._lock:
            self.removed += held.files
            self._unseen = LOOK
            self._free += held.bytes
            self._refused = NOTHING
            self.held = Held(max(0, self.held.bytes - held.bytes), max(0, self.held.files - held.files))

    def counted(self, held: Held) -> None:
        """So much is there."""
        with self._lock:
            self.held = held
            self._refused = NOTHING
            with self.blamed():
                self._look()

    @property
    def crowded(self) -> bool:
        """Something has to go."""
        held = self.held
        return self._refused is not NOTHING or self.bounds.exceeded(held.bytes, held.files, self._free)

    def excess(self) -> Held:
        """What has to go."""
        with self._lock:
            wanted = Held(self.held.bytes + self._refused.bytes, self.held.files + self._refused.files)
            return self.bounds.excess(wanted, self._free)

    def stats(self) -> FolderStats:
        trouble = str(self._failed[1]) if self._failed else ""
        return FolderStats(
            self.path, self.held.bytes, self.held.files, self.bounds.bytes, self._free, self.removed, trouble
        )

    def _begin(self) -> None:
        os.makedirs(os.path.dirname(self.path), PRIVATE, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(self.path, PRIVATE)
        info = os.lstat(self.path)
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & 0o077:
            raise PermissionError(
                errno.EPERM, "others can read or write in the cache; make it a folder of mode 0700", self.path
            )
        self.attributes = _keeps_attributes(self.path)
        self._look()

    def _look(self) -> None:
        """Asks the disk how much is free."""
        disk = os.statvfs(self.path)
        self._unseen = 0
        self._free = disk.f_bavail * disk.f_frsize
        size = disk.f_blocks * disk.f_frsize
        self.bounds = bounds(self._most, self._files, size, self._free, self.held.bytes, self._sharers)


def _keeps_attributes(path: str) -> bool:
    try:
        os.setxattr(path, ATTRIBUTE, b"")
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return False
        raise
    return True
