"""A file of a filesystem that a program reads, as any file of Python."""

from __future__ import annotations

import io
import os
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
    """What `PaddleFlowFileSystem.open` gives for reading."""

    def __init__(self, fs: PaddleFlowFileSystem, path: str, raw: Bytes, details: Mapping[str, Any]) -> None:
        super().__init__(raw, BUFFER)
        self.fs, self.path, self.details = fs, path, details
        self.size: int = raw.size

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
