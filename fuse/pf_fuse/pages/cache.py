"""The page cache: what was fetched is kept on disks, for all mounts of a machine and for later ones.

Several processes may share its folders. Who opens a file that is not whole and that nobody else fills, fills it; for
the others it is not there until it is whole.
"""

from __future__ import annotations

import contextlib
import math
import os
import resource
import threading
import time
from array import array
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

from pf_fuse.pages.adopting import adopt
from pf_fuse.pages.checking import Report, check
from pf_fuse.pages.evicting import Evictor, found, remove, unlink
from pf_fuse.pages.file import CachedFile, on_disk
from pf_fuse.pages.folder import Folder, FolderStats
from pf_fuse.pages.keys import Key
from pf_fuse.pages.sheets import Sheet
from pf_fuse.pages.stored import Kept, State, Stored

KNOWN = 65_536
"""Files that are remembered as checked after they were closed."""


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """Where a cache lies, and how large it may become."""

    folders: Sequence[str] = ()
    """None: nothing is kept."""
    bytes: int | None = None
    """In all folders together; at most what there is room for."""
    files: int = 1_000_000
    """In all folders together."""
    descriptors: int = 16_384
    """Of files that nobody has open, and that may be opened again soon; at most half of what the process may have."""


class Wish(NamedTuple):
    """What somebody else may do for a file."""

    folder: int
    """Which of those of the cache."""
    here: bool
    """It is there, and was not checked."""


@dataclass(frozen=True, slots=True)
class CacheStats:
    """How a cache is doing."""

    folders: Sequence[FolderStats]
    open: int
    idle: int


class PageCache:
    """Files by their keys. May be used by any number of threads."""

    def __init__(
        self,
        settings: CacheSettings,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], int] = time.time_ns,
    ) -> None:
        most_open, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._descriptors = min(settings.descriptors, most_open // 2)
        self._now = now
        self._lock = threading.Lock()
        self._files: dict[str, CachedFile] = {}
        self._idle: OrderedDict[str, CachedFile] = OrderedDict()
        self._known: OrderedDict[str, State] = OrderedDict()
        count = max(1, len(settings.folders))
        most = settings.bytes // count if settings.bytes is not None else None
        sharers = _sharers(settings.folders)
        self._folders = [Folder(path, most, settings.files // count, sharers[path], clock) for path in settings.folders]
        self._evictors = [Evictor(folder, self._let_go, clock) for folder in self._folders]

    @property
    def keeps(self) -> bool:
        """False if it has no folders."""
        return bool(self._folders)

    def open(self, key: Key, size: int) -> CachedFile:
        """Pins a file, of which all, some or nothing is there."""
        name = key.name
        with self._lock:
            file = self._files.get(name)
            if file is not None and file.size == size:
                file.pins += 1
                self._idle.pop(name, None)
                return file
        made = CachedFile(key, name, size, None if file else self._folder(name), self._known.get(name))
        with self._lock:
            kept = self._files.setdefault(name, made)
            if kept is not made and kept.size == size:
                kept.pins += 1
                made.detach()
                return kept
        made.touch(self._now())
        return made

    def at_hand(self, key: Key, size: int) -> bool:
        """True if all of a file is known to be there, and was checked."""
        file = self._files.get(key.name)
        return file is not None and file.size == size and file.checked

    def adopt(self, key: Key, source: str, descriptor: int) -> bool:
        """Keeps a whole file of the same disk, to which nobody writes any more; false if it cannot, or is here."""
        name = key.name
        folder = None if name in self._files else self._folder(name)
        state = adopt(folder, key, source, descriptor) if folder else None
        if state:
            with self._lock:
                self._know(name, state)
        return state is not None

    def put(self, folder: int, key: Key, data: memoryview) -> Stored | None:
        """Keeps all of a file that nobody has; None if it cannot, or something is there. It is not counted.

        It is the caller's to close.
        """
        chosen = self._folders[folder]
        return chosen.put(key, data) if chosen.usable() else None

    def wants(self, key: Key) -> Wish | None:
        """Where a file is to be put of which nothing is there, or to be checked that was not.

        None if something has to go first.
        """
        name = key.name
        known = self._files.get(name)
        folder = None if known and known.fd >= 0 else self._folder(name)
        if folder is None:
            return None
        here = folder.has(name)
        if name in self._known if here else folder.crowded:
            return None
        return Wish(self._folders.index(folder), here)

    def sound(self, folder: int, key: Key, size: int) -> Stored | None:
        """A file that is there as a whole, and was found to be as it was written. It is the caller's to close."""
        chosen = self._folders[folder]
        return chosen.sound(key.name, key, size) if chosen.usable() else None

    def delivered(self, wish: Wish, key: Key, size: int, kept: Kept, descriptor: int) -> None:
        """Somebody else has put all of a file there, or found it there, and knows that it is right.

        The descriptor, which has its lock, is this cache's from now on; -1 if there is none.
        """
        chosen, name = self._folders[wish.folder], key.name
        if not wish.here:
            chosen.takes(on_disk(size), files=1)
        if descriptor < 0:
            with self._lock:
                self._know(name, kept.state)
                file = self._files.get(name)
            if file and file.size == size:
                file.look(kept.state)
            return
        stored = Stored(descriptor, Sheet(key, size, array("I", kept.seals)), False, kept.state)
        made = CachedFile(key, name, size, chosen, kept.state, stored)
        made.pins = 0
        if wish.here:
            made.touch(self._now())
        else:
            made.touched = self._now()
        with self._lock:
            file = self._files.setdefault(name, made)
            gone = self._rests(made) if file is made else [made]
        for each in gone:
            self._end(each)
        if file is not made and file.size == size:
            # It was opened before this was there.
            file.look(kept.state)

    def close(self, file: CachedFile) -> None:
        """Whoever opened it needs it no more."""
        file.touch(self._now())
        with self._lock:
            file.pins -= 1
            if file.pins:
                return
            file.rest()
            gone = self._rests(file)
        # Where a disk is waited for with the lock held, everybody waits.
        for each in gone:
            self._end(each)

    def drop(self, key: Key) -> None:
        """Forgets a file; who has it open may go on."""
        name = key.name
        with self._lock:
            file = self._files.pop(name, None)
            if file:
                file.dropped = True
            idle = self._idle.pop(name, None)
        if idle:
            self._end(idle)
        for folder in self.usable:
            with folder.blamed():
                unlink(folder.file(name))

    def tidy(self) -> bool:
        """Makes room where little is left, and says if it did. Whoever fills files calls it now and then."""
        made = [evictor.tidy() for evictor in self._evictors]
        return any(made)

    def look(self) -> None:
        """Counts what is there, a second for some 200,000 files; until then `stats` knows only of this process."""
        for evictor in self._evictors:
            evictor.look()

    def stats(self) -> CacheStats:
        return CacheStats([folder.stats() for folder in self._folders], len(self._files), len(self._idle))

    def check(self) -> Report:
        """Reads all that is there, and removes what is not as it was written."""
        return sum((check(folder) for folder in self.usable), Report())

    @property
    def usable(self) -> Sequence[Folder]:
        """Folders whose disks are as they should be."""
        return [folder for folder in self._folders if folder.usable()]

    def clear(self) -> None:
        """Removes all that nobody has open."""
        self._rest()
        for folder in self.usable:
            with folder.blamed():
                for each in found(folder):
                    folder.gave(remove(folder, each.name))

    def end(self) -> None:
        """Lets go of what nobody has open."""
        self._rest()

    def _rest(self) -> None:
        with self._lock:
            gone = [self._forgotten(file) for file in self._idle.values()]
            self._idle.clear()
        for each in gone:
            self._end(each)

    def _let_go(self, name: str) -> None:
        with self._lock:
            file = self._idle.pop(name, None)
            if file:
                self._forgotten(file)
        if file:
            self._end(file)

    def _rests(self, file: CachedFile) -> list[CachedFile]:
        """Nobody has it open: what is to be closed for that. The caller holds the lock."""
        if not file.complete or file.fd < 0 or self._files.get(file.name) is not file:
            return [self._forgotten(file)]
        self._idle[file.name] = file
        many = len(self._idle) - self._descriptors
        return [self._forgotten(self._idle.popitem(last=False)[1]) for _ in range(many)]

    def _forgotten(self, file: CachedFile) -> CachedFile:
        if self._files.get(file.name) is file:
            del self._files[file.name]
        return file

    def _end(self, file: CachedFile) -> None:
        state = file.detach()
        if state:
            with self._lock:
                self._know(file.name, state)

    def _know(self, name: str, state: State) -> None:
        """The caller holds the lock."""
        self._known[name] = state
        if len(self._known) > KNOWN:
            self._known.popitem(last=False)

    def _folder(self, name: str) -> Folder | None:
        """The same one each time, as long as it is usable: larger ones have more."""
        usable = self.usable
        return usable[0] if len(usable) == 1 else max(usable, key=lambda folder: _weight(folder, name), default=None)


def _weight(folder: Folder, name: str) -> float:
    """Of a folder for a file; if one folder fails, the files of the others stay where they are."""
    drawn = int.from_bytes(blake2b(f"{folder.path} {name}".encode(), digest_size=6).digest()) + 1
    return -max(1, folder.bounds.bytes) / math.log(drawn / (2**48 + 1))


def _sharers(folders: Sequence[str]) -> dict[str, int]:
    """How many of the folders lie on the disk of each."""
    disks = {path: _disk(path) for path in folders}
    return {path: sum(disk == other for other in disks.values()) for path, disk in disks.items()}


def _disk(path: str) -> int:
    """Of a folder that may still have to be made."""
    while True:
        with contextlib.suppress(OSError):
            return os.stat(path).st_dev
        path = os.path.dirname(path) or "."
