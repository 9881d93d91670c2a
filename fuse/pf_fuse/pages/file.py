"""A file of the cache, as far as it is there."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

from pf_fuse.pages.folder import Folder
from pf_fuse.pages.keys import PAGE, Extent, Key, pages_of
from pf_fuse.pages.sheets import seals
from pf_fuse.pages.stored import LARGE, NEW, UNKNOWN, State, Stored, known_by

BLOCK = 4096
"""Bytes that disks give out at once."""
CHECKED_AT_ONCE = 8 * PAGE
UNSET = -1
RECALLED_AT_ONCE = 1 << 20
"""Bytes that are read at once when nobody wants them yet."""
IDLE_SHARE = 4
"""Of the memory that nobody uses, a large file that was read may take one part in so many."""
TOUCHED = 1_000_000_000
"""Nanoseconds between two notes of a file's use."""


class CachedFile:
    """One version of a file, pinned as long as somebody has it open.

    Reading takes no lock. Pages are written once, and are read only after that; `complete` and `checked` become true
    once, and false again only where a page turns out not to be what was written.
    """

    __slots__ = (
        "_bad",
        "_checked",
        "_fixed",
        "_folder",
        "_lock",
        "_stored",
        "_there",
        "complete",
        "dropped",
        "key",
        "name",
        "pins",
        "size",
        "touched",
    )

    def __init__(
        self,
        key: Key,
        name: str,
        size: int,
        folder: Folder | None,
        known: State | None = None,
        stored: Stored | None = None,
    ) -> None:
        """`stored`: it is open already."""
        self.key, self.size, self.name = key, size, name
        self.pins = 1
        self.touched = 0
        """When its use was noted last."""
        self.dropped = False
        """It is no longer what is found by its name."""
        self.complete = not size
        """All of it is there."""
        self._there = bytearray(pages_of(size))
        self._checked = bytearray(pages_of(size))
        self._fixed = False
        """Somebody reads it without asking: nothing is written to it."""
        self._bad = 0
        self._folder = folder
        self._stored: Stored | None = None
        self._lock = threading.Lock()
        if stored:
            self._take(stored, known)
        elif folder and size and folder.usable():
            self._take(folder.find(name, key, size), known)

    @property
    def fd(self) -> int:
        """Of the file on the disk, or -1. Nobody else may write to it."""
        return self._stored.descriptor if self._stored else UNSET

    @property
    def filling(self) -> bool:
        """Nobody else may have it as long as it is open here: it is not whole."""
        return self._stored is not None and self._stored.alone

    @property
    def checked(self) -> bool:
        """All of it is there, and was found to be as it was written, since this process began."""
        return self.complete and 0 not in self._checked

    @property
    def bad(self) -> int:
        """How many pages were not as they were written."""
        return self._bad

    def read(self, offset: int, size: int) -> bytes | None:
        """Bytes, fewer only at the end of the file; None if not all of them are there."""
        end = min(offset + size, self.size)
        if end <= offset:
            return b""
        first, last = offset // PAGE, (end - 1) // PAGE + 1
        if self._checked.find(0, first, last) >= 0 and not self._verify(first, last):
            return None
        stored = self._stored
        if stored is None or self._folder is None:
            return None
        with self._folder.blamed():
            data = os.pread(stored.descriptor, end - offset, offset)
            if len(data) == end - offset:
                return data
            self._distrust(first, last)
        return None

    def missing(self, offset: int, length: int) -> list[Extent]:
        """Whole pages of these bytes that are not there."""
        end = min(offset + length, self.size)
        last = pages_of(end) if end > offset else 0
        return [Extent(first * PAGE, min(until * PAGE, self.size)) for first, until in self._gaps(offset // PAGE, last)]

    def fill(self, offset: int, data: memoryview | bytes) -> bool:
        """Keeps whole pages; those that are there stay as they are. False if they cannot be kept."""
        view = memoryview(data)
        if offset % PAGE or ((offset + len(view)) % PAGE and offset + len(view) != self.size):
            raise ValueError(f"{len(view)} bytes at {offset} of {self.size} are not whole pages")
        folder = self._folder
        if self.complete or folder is None:
            return self.complete and self._stored is not None
        sealed = seals(view)
        with self._lock, folder.blamed():
            return self._fill(folder, offset // PAGE, view, sealed)
        return False

    def look(self, known: State) -> None:
        """Somebody else has put it there, whose word is taken for it that it is right."""
        with self._lock:
            if self._stored is None and self._folder and not self.dropped:
                self._take(self._folder.find(self.name, self.key, self.size), known)

    def verify(self) -> bool:
        """Checks what was not checked; true if all of it is there."""
        for first in range(0, len(self._there), CHECKED_AT_ONCE // PAGE):
            last = min(first + CHECKED_AT_ONCE // PAGE, len(self._there))
            if self._checked.find(0, first, last) >= 0 and not self._verify(first, last):
                return False
        return self.checked

    def fix(self) -> int:
        """A descriptor for whoever reads it without asking: all of it is there, was checked, and is never written to
        again. -1 if that cannot be had at once.
        """
        # What was handed out before may have been found damaged since.
        if not self.checked or self.filling:
            return UNSET
        self._fixed = True
        return self.fd

    def recall(self) -> None:
        """Has the kernel read what was written past its memory, while much of that lies idle.

        Who has read a file reads it again before long. The kernel keeps what is read in its order in large pieces, and
        what it is told will be needed page by page, which is then read at half the speed. It is copied for nobody, as a
        virtual machine may get memory from its host only when a processor touches it.
        """
        if self._stored and self._folder and self.size >= LARGE and self.size <= _idle_memory() // IDLE_SHARE:
            into, place = [bytearray(RECALLED_AT_ONCE)], 0
            with self._folder.blamed():
                while got := os.preadv(self._stored.descriptor, into, place):
                    place += got

    def rest(self) -> None:
        """Nobody has it open, and nobody reads it without asking."""
        self._fixed = False

    def touch(self, now: int) -> None:
        """It was used at this time, in nanoseconds since 1970: what was not used for the longest time goes first."""
        # The clock may have been set back meanwhile.
        if abs(now - self.touched) > TOUCHED:
            self.touched = now
            if self._stored and self._folder:
                with self._folder.blamed():
                    os.utime(self._stored.descriptor, ns=(now, os.fstat(self._stored.descriptor).st_mtime_ns))

    def detach(self) -> State | None:
        """Lets go of the file on the disk. Nobody may be reading. Says by what it is known again if it was checked."""
        stored, self._stored = self._stored, None
        state = known_by(stored.descriptor) if stored and self.checked else None
        self._fixed = False
        self.complete = not self.size
        self._there = bytearray(len(self._there))
        self._checked = bytearray(len(self._there))
        if stored:
            stored.close()
        return state

    def _take(self, stored: Stored | None, known: State | None = None) -> bool:
        """True if there is one."""
        if stored is not None:
            self._there = bytearray(map(bool, stored.sheet.seals))
            if known and known == stored.state:
                self._checked = bytearray(b"\1" * len(self._there))
            self._stored = stored
            self.complete = stored.sheet.whole
        return stored is not None

    def _fill(self, folder: Folder, first: int, view: memoryview, sealed: list[int]) -> bool:
        stored = self._writable(folder, on_disk(len(view)))
        if stored is None or self.dropped:
            return self.complete
        counted, stored.state = stored.state is NEW, UNKNOWN
        for start, until in self._gaps(first, first + len(sealed)):
            part = view[(start - first) * PAGE : (until - first) * PAGE]
            if not counted and not folder.takes(on_disk(len(part)), files=0):
                return False
            stored.write(part, start * PAGE)
            stored.keep(start, sealed[start - first : until - first])
            self._there[start:until] = self._checked[start:until] = b"\1" * (until - start)
        if 0 not in self._there:
            stored.share()
            self.complete = True
        return True

    def _writable(self, folder: Folder, size: int) -> Stored | None:
        """The file on the disk, if it may be filled; a new one has room for so many bytes."""
        if self._stored is None and folder.usable():
            if folder.takes(size, files=1):
                self._take(folder.make(self.name, self.key, self.size))
            if self._stored is None:
                self._take(folder.find(self.name, self.key, self.size))
        stored = self._stored
        return stored if stored and not self._fixed and not self.complete and stored.claim() else None

    def _gaps(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        there = self._there
        while (first := there.find(0, first, last)) >= 0:
            until = there.find(1, first, last)
            yield first, until if until >= 0 else last
            first = until if until >= 0 else last

    def _verify(self, first: int, last: int) -> bool:
        """Checks pages that were not checked; false if one is not there, or no longer."""
        stored = self._stored
        if stored is None or self._folder is None or self._there.find(0, first, last) >= 0:
            return False
        with self._folder.blamed():
            bad = stored.damaged(first, last)
            for page in bad:
                self._distrust(page, page + 1)
            with self._lock:
                # Somebody else may have found one bad meanwhile, whose seal is gone then.
                if self._there.find(0, first, last) < 0:
                    self._checked[first:last] = b"\1" * (last - first)
                    return True
        return False

    def _distrust(self, first: int, last: int) -> None:
        """Pages are not what was written: they count as missing, and are written anew if nobody else reads them."""
        with self._lock:
            self._bad += last - first
            self.complete = False
            self._there[first:last] = self._checked[first:last] = bytes(last - first)
            if self._stored:
                self._stored.keep(first, [0] * (last - first))


def _idle_memory() -> int:
    """Bytes that nobody uses, not even the kernel for what it has read."""
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def on_disk(size: int) -> int:
    """Bytes that so many bytes take."""
    return -(-size // BLOCK) * BLOCK
