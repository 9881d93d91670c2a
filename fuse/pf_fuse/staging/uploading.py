"""Uploading what was written: small files at once, large ones in parts.

A file appears whole or not at all. Of an upload in parts it is written down where it goes on before its first part is
sent: what was neither finished nor dropped by the end of a process is dropped by the next one. Of what was sent while
the file was still written only the rest is sent.
"""

from __future__ import annotations

import errno
import logging
import mmap
import os
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Executor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from pf_backends.entries import Condition, Entry, Facts, Part, Parts, Upload
from pf_backends.errors import Unreachable
from pf_backends.port import Backend, Hasty
from pf_fuse.staging.ahead import Ahead, Begun
from pf_fuse.staging.buffers import Buffers
from pf_fuse.staging.disk import of_disk
from pf_fuse.staging.notes import Notes
from pf_fuse.staging.staged import Print

logger = logging.getLogger(__name__)

PUT_MOST = 16 << 20
"""Bytes of a file that is uploaded in one piece where parts are possible."""
_PART = 8 << 20
"""Bytes of a part, unless there would be too many."""
_BLOCK = 512
_POPULATE_READ = 22
"""Has the kernel bring all pages, and say if it cannot."""
_GONE = frozenset((errno.ENOENT, errno.EINVAL))
"""What stores say of an upload that they do not know, and of one of which they do not have the parts."""


class Sent(NamedTuple):
    """What the backend has of a file that was sent."""

    entry: Entry
    timed: bool = True
    """False: the time is about right, and the one that counts has to be asked for."""


@dataclass(frozen=True, slots=True)
class Uploader:
    """Sends files to a backend."""

    backend: Backend
    notes: Notes[Upload]
    senders: Executor
    """Sends the parts of a file, several at once."""
    buffers: Buffers = field(default_factory=Buffers)

    def ahead(self, descriptor: int, target: Callable[[], tuple[str, Facts]]) -> Ahead | None:
        """Begins to send a file that is still written; None if that can only be done as a whole, or later."""
        parts = self.backend.capabilities.parts
        if parts is None:
            return None
        try:
            return Ahead(self.backend, self.notes, self.senders, self.buffers, descriptor, _long(parts), target)
        except OSError as error:
            # All is written, and whoever closes the file has it sent.
            logger.info("not sent ahead", extra={"why": str(error)})
            return None

    def send(
        self,
        path: str,
        descriptor: int,
        size: int,
        facts: Facts,
        condition: Condition,
        ahead: Ahead | None = None,
    ) -> Sent:
        """The file at the path is what the descriptor's file has, all of it. Blocks."""
        parts = self.backend.capabilities.parts
        begun = ahead.end() if ahead else None
        if begun and not (parts and self._goes_on(begun, path, size, facts, parts)):
            self._drop(begun)
            begun = None
        if parts is None or size <= PUT_MOST:
            with self.buffers.used(), self._bytes(descriptor, 0, size) as body:
                return self._put(path, body, facts, condition)
        sent = partial(self._sent_in_parts, descriptor=descriptor, size=size, parts=parts, condition=condition)
        if begun:
            with _still_there():
                return Sent(sent(begun))
        return Sent(sent(self._begun(path, facts)))

    def found(self, path: str, descriptor: int, size: int) -> Entry | None:
        """What lies at the path if it has the same bytes. Blocks."""
        with _answered():
            entry = self.backend.stat(path)
            if entry.size == size and self._same(entry, descriptor):
                return entry
        return None

    def stored(self, path: str, prints: Collection[Print]) -> Entry | None:
        """What lies at the path if its bytes are known by one of the prints. Blocks."""
        with _answered():
            entry = self.backend.stat(path)
            if any(entry.size == each.size for each in prints):
                digest = _digest(entry.size, lambda start, piece: self._read(entry, start, piece))
                return entry if Print(entry.size, digest) in prints else None
        return None

    def clean(self) -> None:
        """Has dropped what processes before have begun; what cannot be dropped now is left for the next one.

        Nobody waits for that: the store may not answer.
        """
        for file, upload in self.notes.left():
            self.senders.submit(self._drop_left, file, upload)

    def _put(self, path: str, body: memoryview, facts: Facts, condition: Condition) -> Sent:
        if isinstance(self.backend, Hasty):
            return Sent(self.backend.put_hastily(path, body, facts=facts, condition=condition), timed=False)
        return Sent(self.backend.put(path, body, facts=facts, condition=condition))

    def _drop_left(self, file: Path, upload: Upload) -> None:
        with suppress(OSError):
            self.backend.drop(upload)
            file.unlink()

    def _goes_on(self, begun: Begun, path: str, size: int, facts: Facts, parts: Parts) -> bool:
        """True if an upload that was begun while the file was written is the one that is wanted."""
        if not self.backend.capabilities.modes:
            # Times of its own are all that others see there.
            facts = replace(facts, modified=None)
        fits = PUT_MOST < size <= _long(parts) * parts.count
        return fits and begun.upload.path == path and begun.facts == facts

    def _drop(self, begun: Begun) -> None:
        """Nobody finishes it. What cannot be dropped now is dropped by the next process."""
        wait(begun.sent.values())
        with suppress(OSError):
            self.backend.drop(begun.upload)
            begun.note.unlink(missing_ok=True)

    def _begun(self, path: str, facts: Facts) -> Begun:
        upload = self.backend.begin(path, facts=facts)
        return Begun(upload, facts, self.notes.write(upload), {}, frozenset())

    def _sent_in_parts(self, begun: Begun, descriptor: int, size: int, parts: Parts, condition: Condition) -> Entry:
        try:
            entry = self._in_parts(begun, descriptor, _pieces(size, parts), condition)
        except BaseException:
            self._drop(begun)
            raise
        begun.note.unlink(missing_ok=True)
        return entry

    def _in_parts(
        self, begun: Begun, descriptor: int, pieces: Iterator[tuple[int, int]], condition: Condition
    ) -> Entry:
        with self.buffers.used():
            sending = [
                self.senders.submit(self._send_part, begun, number, descriptor, start, size)
                for number, (start, size) in enumerate(pieces, 1)
            ]
            try:
                return self.backend.finish(begun.upload, [each.result() for each in sending], condition=condition)
            finally:
                # What arrives after an upload was dropped stays.
                wait([each for each in sending if not each.cancel()])

    def _read(self, entry: Entry, start: int, piece: memoryview) -> int:
        return self.backend.read(entry.path, start, piece, version=entry.version)

    def _same(self, entry: Entry, descriptor: int) -> bool:
        piece = memoryview(bytearray(_PART))
        for start in range(0, entry.size, _PART):
            count = self._read(entry, start, piece)
            if not count or piece[:count] != os.pread(descriptor, _PART, start):
                return False
        return True

    def _send_part(self, begun: Begun, number: int, descriptor: int, start: int, size: int) -> Part:
        """Unless it was sent before: then that is waited for, since whichever comes last is what the store keeps."""
        before = begun.sent.get(number)
        if before and not before.exception() and number not in begun.stale:
            return before.result()
        with self._bytes(descriptor, start, size) as body:
            return self.backend.send(begun.upload, number, body)

    @contextmanager
    def _bytes(self, descriptor: int, start: int, size: int) -> Iterator[memoryview]:
        """Of a file: copied unless that took too much memory, as where a backend takes a large file only as a whole."""
        if size > PUT_MOST:
            yield _mapped(descriptor, start, size)
            return
        with self.buffers.filled(descriptor, start, size) as body:
            yield body


@contextmanager
def _still_there() -> Iterator[None]:
    """Ends without an error where an upload, or a part of it, is not there any more: stores drop what is old."""
    try:
        yield
    except OSError as error:
        if error.errno not in _GONE:
            raise
        logger.warning("what was sent of a file is gone, and is sent again", extra={"why": str(error)})


@contextmanager
def _answered() -> Iterator[None]:
    """What the backend refuses to tell is taken for nothing; Unreachable where it tells nothing at all."""
    try:
        yield
    except Unreachable:
        raise
    except OSError:
        return


def print_of(descriptor: int, size: int) -> Print:
    """Of a file here."""
    with of_disk():
        return Print(size, _digest(size, lambda start, piece: os.preadv(descriptor, [piece], start)))


def _digest(size: int, read: Callable[[int, memoryview], int]) -> bytes:
    """Of so many bytes; of another number if reading ends before."""
    digest, piece = blake2b(digest_size=16), memoryview(bytearray(min(size, _PART)))
    start = 0
    while start < size and (count := read(start, piece[: size - start])):
        digest.update(piece[:count])
        start += count
    return digest.digest()


def _pieces(size: int, parts: Parts) -> Iterator[tuple[int, int]]:
    """Where parts begin, and how long they are: as large as they must be, and as few as there may be."""
    long = max(_long(parts), -(-size // parts.count))
    long = -(-long // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
    for start in range(0, size, long):
        yield start, min(long, size - start)


def _long(parts: Parts) -> int:
    """Bytes of a part of a file of which nobody knows how large it will be."""
    long = max(parts.least, min(_PART, parts.most))
    return -(-long // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY


def _mapped(descriptor: int, start: int, size: int) -> memoryview:
    """Bytes of a file without copying them; they are let go of with the last view of them."""
    with of_disk():
        mapped = mmap.mmap(descriptor, size, access=mmap.ACCESS_READ, offset=start)
        _have_all(mapped, descriptor)
    return memoryview(mapped)


def _have_all(mapped: mmap.mmap, descriptor: int) -> None:
    """ENOSPC if the disk has no room for what was never written of a file: to read that would end the process."""
    found = os.fstat(descriptor)
    if found.st_blocks * _BLOCK >= found.st_size:
        return
    try:
        mapped.madvise(_POPULATE_READ)
    except OSError as error:
        # Linux before 5.14 does not know it.
        if error.errno == errno.EFAULT:
            raise OSError(errno.ENOSPC, "the local disk has no room for what was never written of a file") from error
