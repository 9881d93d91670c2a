"""Uploading what was written: small files at once, large ones in parts.

A file appears whole or not at all. Of an upload in parts it is written down where it goes on before its first part is
sent: what was neither finished nor dropped by the end of a process is dropped by the next one.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass

from pf_backends.entries import Condition, Entry, Facts, Part, Parts, Upload
from pf_backends.port import Backend
from pf_fuse.staging.notes import Notes

PUT_MOST = 16 << 20
"""Bytes of a file that is uploaded in one piece where parts are possible."""
_PART = 8 << 20
"""Bytes of a part, unless there would be too many."""


@dataclass(frozen=True, slots=True)
class Uploader:
    """Sends files to a backend."""

    backend: Backend
    notes: Notes[Upload]
    senders: Executor
    """Sends the parts of a file, several at once."""

    def send(self, path: str, descriptor: int, size: int, facts: Facts, condition: Condition) -> Entry:
        """The file at the path is what the descriptor's file has, all of it. Blocks."""
        parts = self.backend.capabilities.parts
        if parts is None or size <= PUT_MOST:
            return self.backend.put(path, _mapped(descriptor, 0, size), facts=facts, condition=condition)
        upload = self.backend.begin(path, facts=facts)
        with self.notes.note(upload):
            try:
                return self._in_parts(upload, descriptor, _pieces(size, parts), condition)
            except BaseException:
                with suppress(OSError):
                    self.backend.drop(upload)
                raise

    def found(self, path: str, descriptor: int, size: int) -> Entry | None:
        """What lies at the path if it has the same bytes. Blocks."""
        with suppress(OSError):
            entry = self.backend.stat(path)
            if entry.size == size and self._same(entry, descriptor):
                return entry
        return None

    def clean(self) -> None:
        """Drops what processes before have begun. Blocks; what cannot be dropped now is left for the next one."""
        for file, upload in self.notes.left():
            with suppress(OSError):
                self.backend.drop(upload)
                file.unlink()

    def _in_parts(
        self, upload: Upload, descriptor: int, pieces: Iterator[tuple[int, int]], condition: Condition
    ) -> Entry:
        sending = [
            self.senders.submit(self._send_part, upload, number, descriptor, start, size)
            for number, (start, size) in enumerate(pieces, 1)
        ]
        try:
            return self.backend.finish(upload, [each.result() for each in sending], condition=condition)
        finally:
            for each in sending:
                each.cancel()

    def _same(self, entry: Entry, descriptor: int) -> bool:
        piece = memoryview(bytearray(_PART))
        for start in range(0, entry.size, _PART):
            count = self.backend.read(entry.path, start, piece, version=entry.version)
            if not count or piece[:count] != os.pread(descriptor, _PART, start):
                return False
        return True

    def _send_part(self, upload: Upload, number: int, descriptor: int, start: int, size: int) -> Part:
        return self.backend.send(upload, number, _mapped(descriptor, start, size))


def _pieces(size: int, parts: Parts) -> Iterator[tuple[int, int]]:
    """Where parts begin, and how long they are: as large as they must be, and as few as there may be."""
    long = max(parts.least, min(_PART, parts.most), -(-size // parts.count))
    long = -(-long // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
    for start in range(0, size, long):
        yield start, min(long, size - start)


def _mapped(descriptor: int, start: int, size: int) -> memoryview:
    """Bytes of a file without copying them; they are let go of with the last view of them."""
    if not size:
        return memoryview(b"")
    return memoryview(mmap.mmap(descriptor, size, access=mmap.ACCESS_READ, offset=start))
