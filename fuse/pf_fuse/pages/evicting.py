"""Looking through a folder, and removing from it what was not used for the longest time."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections.abc import Callable, Iterator

from pf_fuse.pages.folder import Folder
from pf_fuse.pages.room import Found, Held, total
from pf_fuse.pages.stored import FLAGS, PRIVATE, SHEET, locked

GUARD = "evicting.lock"
"""Held by the one process that looks through a folder; the others need not."""
EVERY = 60.0
"""Seconds after which a folder is counted anew while files are put there."""
SPARE = 50
"""So many times longer than it took to count them lies between two counts."""
PAUSE = 1.0
"""Seconds in which nothing is looked for where everything is in use."""
BLOCK = 512
"""Bytes, as `stat` counts them."""


def found(folder: Folder) -> Iterator[Found]:
    """All files in a folder, in no order; also those of which nothing is known, which are used first of all never."""
    for shard in _listed(folder.path):
        if not shard.is_dir(follow_symlinks=False):
            continue
        for each in _listed(shard.path):
            with contextlib.suppress(FileNotFoundError):
                info = each.stat(follow_symlinks=False)
                if not each.name.endswith(SHEET):
                    yield Found(each.name, info.st_blocks * BLOCK, info.st_atime_ns)
                elif not os.path.exists(each.path.removesuffix(SHEET)):
                    os.unlink(each.path)


def remove(folder: Folder, name: str, *, unless_used_since: int | None = None) -> Held:
    """Removes a file that nobody has open; says what became free."""
    path = folder.file(name)
    try:
        descriptor = os.open(path, FLAGS)
    except FileNotFoundError:
        return Held()
    try:
        info = os.fstat(descriptor)
        used = unless_used_since is not None and info.st_atime_ns > unless_used_since
        if used or not info.st_nlink or not locked(descriptor, fcntl.LOCK_EX):
            return Held()
        unlink(path)
        return Held(info.st_blocks * BLOCK, 1)
    finally:
        os.close(descriptor)


def unlink(path: str) -> None:
    """The sheet goes first: a file without one has nothing."""
    for each in (path + SHEET, path):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(each)


class Evictor:
    """Keeps a folder within its bounds."""

    def __init__(self, folder: Folder, let_go: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._folder = folder
        self._let_go = let_go
        """Closes a file that is only kept open because it may be opened again."""
        self._clock = clock
        self._oldest: Iterator[Found] = iter(())
        self._due = 0.0
        """When it looks again by itself: other processes put files there too."""
        self._again = 0.0
        """Not before this time, if all that is there is in use."""
        self._busy = threading.Lock()

    def look(self) -> None:
        """Counts what is there."""
        begun = self._clock()
        with self._folder.blamed():
            held, oldest = total(found(self._folder))
            self._folder.counted(held)
            self._oldest = iter(oldest)
        ended = self._clock()
        self._due = ended + max(EVERY, SPARE * (ended - begun))

    def tidy(self) -> bool:
        """Makes room if there is too little, and says if it did; does nothing while somebody else does."""
        now = self._clock()
        if now < self._due and (now < self._again or not self._folder.crowded):
            return False
        if not self._folder.usable() or not self._busy.acquire(blocking=False):
            return False
        try:
            with self._folder.blamed(), _guard(self._folder.path) as mine:
                return mine and self._tidy()
        finally:
            self._busy.release()
        return False

    def _tidy(self) -> bool:
        before = self._folder.removed
        if self._clock() >= self._due:
            self.look()
        if self._missing(self._folder.excess()):
            self.look()
            if self._missing(self._folder.excess()):
                self._again = self._clock() + PAUSE
        return self._folder.removed > before

    def _missing(self, excess: Held) -> bool:
        """Removes files, and says if that was not enough. Those chosen before come first."""
        size, files = excess.bytes, excess.files
        for each in self._oldest if size > 0 or files > 0 else ():
            self._let_go(each.name)
            gone = remove(self._folder, each.name, unless_used_since=each.used)
            self._folder.gave(gone)
            size, files = size - gone.bytes, files - gone.files
            if size <= 0 and files <= 0:
                break
        return size > 0 or files > 0


def _listed(path: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            return list(entries)
    except FileNotFoundError:
        return []


@contextlib.contextmanager
def _guard(path: str) -> Iterator[bool]:
    descriptor = os.open(os.path.join(path, GUARD), FLAGS | os.O_CREAT, PRIVATE)
    try:
        yield locked(descriptor, fcntl.LOCK_EX)
    finally:
        os.close(descriptor)
