"""Brings files into the cache before anybody reads them.

It has its own connections and its own memory, so that readers of the same mount go before it where they can. What is in
the cache is not fetched again: whoever begins anew after a break goes on where it was.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from copy import copy
from queue import Empty, Queue

from pf_backends.entries import Entry
from pf_backends.port import Backend
from pf_fuse.fetching.working import fetch_part, fetch_whole
from pf_fuse.pages.cache import PageCache
from pf_fuse.pages.keys import Key
from pf_fuse.threads import started, started_if_room
from pf_fuse.warming.finding import files_at
from pf_fuse.warming.pieces import Piece, Wanted, new_buffer, pieces_of
from pf_fuse.warming.progress import Progress

log = logging.getLogger(__name__)

_FOUND = 20_000
"""Files that were found and not looked at: listing goes no further ahead."""
_IN_A_ROW = 64
"""Files that fail one after the other, after which there is no use in asking for more."""
_LOOK = 0.1
"""Seconds between two looks whether it was stopped."""


class Warmer:
    """Fetches all files at some paths, several at once."""

    def __init__(self, backend: Backend, cache: PageCache, at_once: int = 8) -> None:
        self._backend = backend
        self._cache = cache
        self._at_once = at_once
        self._lock = threading.Lock()
        self._next = threading.Lock()
        """Held by the one worker that looks for its next piece."""
        self._found: Queue[Entry | None] = Queue(_FOUND)
        self._pieces = self._all_pieces()
        self._stopped = threading.Event()
        self._progress = Progress()
        self._failed = 0
        """Files in a row."""
        self._threads: list[threading.Thread] = []

    def begin(self, paths: Sequence[str]) -> None:
        """Returns at once. OSError where nobody can do it; where fewer can than are wanted, they do it all."""
        self._threads = [started("warm-list", self._told, self._list, paths)]
        try:
            self._threads.append(started("warm", self._told, self._work))
        except OSError:
            self.stop()
            raise
        others = (started_if_room("warm", self._told, self._work) for _ in range(1, self._at_once))
        self._threads += filter(None, others)

    def progress(self) -> Progress:
        """How far it is by now."""
        with self._lock:
            return copy(self._progress)

    def wait(self, seconds: float) -> bool:
        """True once it is over; waits no longer than so many seconds."""
        for thread in self._threads:
            thread.join(seconds if thread.is_alive() else 0.0)
            if thread.is_alive():
                return False
        return True

    def stop(self) -> None:
        """What is being fetched still comes, and nothing after it."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()
        self._pieces.close()

    def _told(self, work: Callable[..., None], *arguments: object) -> None:
        """Has a thread do it. What nobody has foreseen ends all of it, and is told as a failure."""
        try:
            work(*arguments)
        except Exception as fault:
            log.exception("nothing more is warmed")
            with self._lock:
                self._progress.fail("", f"gave up: {_fault(fault)}")
            self._stopped.set()

    def _list(self, paths: Sequence[str]) -> None:
        try:
            for path in paths:
                self._list_one(path)
        finally:
            self._hand_on(None)

    def _list_one(self, path: str) -> None:
        try:
            for entry in files_at(self._backend, path):
                with self._lock:
                    self._progress.files += 1
                    self._progress.bytes += entry.size
                if not self._hand_on(entry):
                    return
        except OSError as error:
            self._fail(path, error)

    def _hand_on(self, entry: Entry | None) -> bool:
        """False if it was stopped."""
        if entry is None:
            with self._lock:
                self._progress.listed = not self._stopped.is_set()
        while not self._stopped.is_set():
            if not self._found.full():
                self._found.put(entry)
                return True
            self._stopped.wait(_LOOK)
        return False

    def _entries(self) -> Iterator[Entry]:
        while not self._stopped.is_set():
            try:
                entry = self._found.get(timeout=_LOOK)
            except Empty:
                continue
            if entry is None:
                return
            yield entry

    def _all_pieces(self) -> Generator[Piece, None, None]:
        self._cache.tidy()
        room = sum(folder.most for folder in self._cache.stats().folders)
        for entry in self._entries():
            room -= entry.size
            if not entry.version:
                self._refuse(entry, "its place cannot tell whether it is the same later")
            elif room < 0:
                self._refuse(entry, "the cache has no room for so many files")
            else:
                yield from self._pieces_of(entry)

    def _pieces_of(self, entry: Entry) -> Iterator[Piece]:
        key = Key(self._backend.address, entry.path, entry.version)
        wanted = Wanted(entry, self._cache.open(key, entry.size))
        if wanted.file.complete:
            with self._lock:
                self._progress.files_kept += 1
        try:
            for piece in pieces_of(wanted):
                with self._lock:
                    wanted.left += 1
                yield piece
        finally:
            self._landed(wanted)

    def _work(self) -> None:
        buffer = new_buffer()
        while not self._stopped.is_set():
            with self._next:
                piece = next(self._pieces, None)
            if piece is None:
                return
            try:
                self._fetch(piece, buffer)
            except OSError as error:
                piece.wanted.error = str(error.strerror or error)
            except Exception as fault:
                log.exception("a file is not warmed")
                piece.wanted.error = _fault(fault)
            self._landed(piece.wanted)

    def _fetch(self, piece: Piece, buffer: memoryview) -> None:
        wanted, extent = piece.wanted, piece.extent
        view = buffer[: extent.size]
        if piece.whole:
            _, data = fetch_whole(self._backend, wanted.entry)
            view = memoryview(data)
        else:
            fetch_part(self._backend, wanted.entry, extent, view)
        kept = wanted.file.fill(extent.start, view)
        if self._cache.tidy() and not kept:
            kept = wanted.file.fill(extent.start, view)
        if not kept:
            wanted.error = "the cache has no room for it, or another process just fetches it"
        with self._lock:
            self._progress.bytes_fetched += extent.size

    def _landed(self, wanted: Wanted) -> None:
        """A piece is done, or there are no more."""
        with self._lock:
            wanted.left -= 1
            if wanted.left:
                return
            self._count(wanted)
        self._cache.close(wanted.file)

    def _count(self, wanted: Wanted) -> None:
        """The caller holds the lock."""
        if wanted.file.complete:
            self._progress.files_done += 1
            self._progress.bytes_done += wanted.entry.size
            self._failed = 0
        elif not self._stopped.is_set():
            self._progress.fail(wanted.entry.path, wanted.error or "a part of it was damaged on the disk")
            self._failed += 1
            if self._failed == _IN_A_ROW:
                self._progress.fail("", f"gave up: {_IN_A_ROW} files failed one after the other")
                self._stopped.set()

    def _refuse(self, entry: Entry, why: str) -> None:
        with self._lock:
            self._progress.fail(entry.path, why)

    def _fail(self, path: str, error: OSError) -> None:
        with self._lock:
            self._progress.fail(error.filename or path, str(error.strerror or error))


def _fault(fault: Exception) -> str:
    return f"a fault of this program, please report it: {fault!r}"
