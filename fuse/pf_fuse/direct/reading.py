"""Reading a file in a program: from the cache of the machine, or from its place by way of the cache."""

from __future__ import annotations

import os
from concurrent.futures import Future

from pf_backends.entries import Entry
from pf_fuse.fetching.fetcher import OpenFile
from pf_fuse.operations import Answer, Bytes

_AT_ONCE = 16 << 20
"""Bytes that are asked for together: more would need as much memory once more."""


class Content:
    """One version of a file, for any number of threads."""

    def __init__(self, entry: Entry, file: OpenFile) -> None:
        self.entry = entry
        self._file = file

    def begin(self, offset: int, size: int) -> Answer[Bytes]:
        """At once, or with a future."""
        return self._file.read(offset, size)

    def read(self, offset: int, size: int) -> Bytes:
        """As many bytes as are asked for, fewer only at the end."""
        if min(size, self.entry.size - offset) <= _AT_ONCE:
            return _got(self._file.read(offset, size))
        into = bytearray(min(size, self.entry.size - offset))
        self.read_into(offset, memoryview(into))
        return into

    def read_into(self, offset: int, into: memoryview) -> int:
        """How many bytes there were, fewer only at the end."""
        size = max(0, min(len(into), self.entry.size - offset))
        here = self._file.checked()
        if here is not None:
            return _read_all(here, offset, into[:size])
        for start in range(0, size, _AT_ONCE):
            end = min(start + _AT_ONCE, size)
            into[start:end] = _got(self._file.read(offset + start, end - start))
        return size

    def close(self) -> None:
        self._file.close()


def _read_all(descriptor: int, offset: int, into: memoryview) -> int:
    """The kernel reads less than 2 GiB at once."""
    done = 0
    while done < len(into) and (count := os.preadv(descriptor, [into[done:]], offset + done)):
        done += count
    return done


def _got(answer: Answer[Bytes]) -> Bytes:
    return answer.result() if isinstance(answer, Future) else answer
