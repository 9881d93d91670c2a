"""A file of a filesystem that a program reads, as any file of Python."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from paddleflow.direct.ports import Content, Entry, Files

if TYPE_CHECKING:
    from paddleflow.direct.filesystem import PaddleFlowFileSystem

BUFFER = 32 * 1024
"""Bytes that small reads ask for at once: they come from the cache, and cost more the more there are of them."""


class Bytes(io.RawIOBase):
    """One version of a file; in a process that was forked it is opened again."""

    def __init__(self, files: Files, entry: Entry, reopen: Any) -> None:
        super().__init__()
        self.size = entry.size
        self._entry = entry
        self._reopen = reopen
        self._content: Content | None = files.open(entry)
        self._process = os.getpid()
        self._at = 0

    def readinto(self, buffer: Any) -> int:
        count = self._open().read_into(self._at, memoryview(buffer).cast("B"))
        self._at += count
        return count

    def readall(self) -> bytes:
        data = bytes(self._open().read(self._at, max(0, self.size - self._at)))
        self._at += len(data)
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        if start + offset < 0:
            raise ValueError(f"cannot seek to {start + offset}, which is before the beginning")
        self._at = start + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            content, self._content = self._content, None
            if content and self._process == os.getpid():
                content.close()
        super().close()

    def _open(self) -> Content:
        if self._content is None:
            raise ValueError("the file is closed")
        if self._process != os.getpid():
            self._content = self._reopen().open(self._entry)
            self._process = os.getpid()
        return self._content


class Reader(io.BufferedReader):
    """What `PaddleFlowFileSystem.open` gives for reading.

    DuckDB uses one file in many threads, and each seeks and then reads: a thread reads where it sought itself, whoever
    else has sought since. Who reads without that goes on where the last one was, as with any file.
    """

    def __init__(self, fs: PaddleFlowFileSystem, path: str, raw: Bytes, details: Mapping[str, Any]) -> None:
        super().__init__(raw, BUFFER)
        self.fs, self.path, self.details = fs, path, details
        self.size: int = raw.size
        self._turn = threading.RLock()
        self._sought: dict[int, int] = {}
        """Where threads have sought that have not read since."""

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        with self._turn:
            if whence == os.SEEK_CUR and (own := self._sought.get(threading.get_ident())) is not None:
                super().seek(own)
            found = self._sought[threading.get_ident()] = super().seek(offset, whence)
            return found

    def tell(self) -> int:
        with self._turn:
            return self._sought.get(threading.get_ident(), super().tell())

    def read(self, size: int | None = -1) -> bytes:
        with self._turn:
            self._take_up()
            return super().read(size)

    def read1(self, size: int = -1) -> bytes:
        with self._turn:
            self._take_up()
            return super().read1(size)

    def readinto(self, buffer: Any) -> int:
        with self._turn:
            self._take_up()
            return super().readinto(buffer)

    def readinto1(self, buffer: Any) -> int:
        with self._turn:
            self._take_up()
            return super().readinto1(buffer)

    def readline(self, size: int | None = -1) -> bytes:
        with self._turn:
            self._take_up()
            return super().readline(size)

    def peek(self, size: int = 0) -> bytes:
        with self._turn:
            self._take_up()
            return super().peek(size)

    def _take_up(self) -> None:
        """Goes to where this thread has sought; without that, what others have sought counts no more."""
        own = self._sought.pop(threading.get_ident(), None)
        if own is None:
            self._sought.clear()
        elif own != super().tell():
            super().seek(own)

    @property
    def full_name(self) -> str:
        return str(self.fs.unstrip_protocol(self.path))

    def info(self) -> Mapping[str, Any]:
        return self.details

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (self.fs, self.path, self.tell())


def _reopened(fs: PaddleFlowFileSystem, path: str, at: int) -> Reader:
    """In another process; the version is that which is there then."""
    reader: Reader = fs.open(path, "rb")
    reader.seek(at)
    return reader
