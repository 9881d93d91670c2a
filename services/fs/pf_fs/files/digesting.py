"""Tells files, and folders with all in them, by digests. See FileService.DigestFiles for what they are made of."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from hashlib import sha256
from pathlib import PurePosixPath

from paddleflow.problems import FileUnusable
from pf_fs.files.beneath import found, readable, told
from pf_fs.files.budget import Budget, Spent
from pf_fs.files.domain import MOST_LEVELS, DigestMode
from pf_fs.files.remembering import Begun, Memory, identity
from pf_kit.fields import shown

MOST_THINGS = {DigestMode.CONTENT: 200_000, DigestMode.TIME: 500_000}
"""In one folder, all levels together. As many digests are remembered, so that each call gets further."""
PIECE = 1024 * 1024
"""Bytes that are read at once."""
_AS_IT_IS = os.O_PATH | os.O_NOFOLLOW


def digest(folder: int, path: PurePosixPath, mode: DigestMode, memory: Memory, budget: Budget) -> bytes:
    """The digest of what lies at a path. Raises Spent, and what `found` does."""
    with found(folder, path) as handle, told(path):
        return _Digesting(path, mode, memory, budget).of(handle, 0)


class _Digesting:
    """The digest of one path."""

    def __init__(self, path: PurePosixPath, mode: DigestMode, memory: Memory, budget: Budget) -> None:
        self._path = path
        self._mode = mode
        self._memory = memory
        self._budget = budget
        self._things = 0

    def of(self, handle: int, level: int) -> bytes:
        """The digest of a thing that was found."""
        self._budget.check_wanted()
        self._things += 1
        if self._things > MOST_THINGS[self._mode]:
            raise FileUnusable(f"{shown(str(self._path))} holds more than {MOST_THINGS[self._mode]} files")
        seen = os.fstat(handle)
        match stat.S_IFMT(seen.st_mode):
            case stat.S_IFREG:
                return self._file(handle, seen)
            case stat.S_IFDIR:
                return self._tree(handle, level)
            case stat.S_IFLNK:
                return hashed(b"link", os.readlink(b"", dir_fd=handle))
            case _:
                return hashed(b"else", b"")

    def _file(self, handle: int, seen: os.stat_result) -> bytes:
        flag = b"x" if seen.st_mode & stat.S_IXUSR else b"-"
        if self._mode is DigestMode.TIME:
            return hashed(b"time", flag + eight(seen.st_size) + eight(seen.st_mtime_ns))
        return hashed(b"file", flag + self._content(handle, seen))

    def _tree(self, handle: int, level: int) -> bytes:
        if level >= MOST_LEVELS:
            raise FileUnusable(f"{shown(str(self._path))} has more than {MOST_LEVELS} folders in one another")
        tree = sha256(b"tree\0")
        for name in self._names(handle):
            tree.update(self._thing(handle, name, level + 1))
        return tree.digest()

    def _names(self, handle: int) -> list[bytes]:
        opened = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=handle)
        try:
            with os.scandir(opened) as entries:
                return sorted(self._counted(os.fsencode(entry.name) for entry in entries))
        finally:
            os.close(opened)

    def _counted(self, names: Iterator[bytes]) -> Iterator[bytes]:
        """Not more names than may be in all: a folder may have millions."""
        left = MOST_THINGS[self._mode] - self._things
        for number, name in enumerate(names):
            if number >= left:
                raise FileUnusable(f"{shown(str(self._path))} holds more than {MOST_THINGS[self._mode]} files")
            yield name

    def _thing(self, above: int, name: bytes, level: int) -> bytes:
        handle = os.open(name, _AS_IT_IS, dir_fd=above)
        try:
            return len(name).to_bytes(4, "big") + name + self.of(handle, level)
        finally:
            os.close(handle)

    def _content(self, handle: int, seen: os.stat_result) -> bytes:
        key = identity(seen)
        if (known := self._memory.known(key)) is not None:
            return known
        self._budget.check()
        begun = self._memory.begin(key, max(seen.st_mtime_ns, seen.st_ctime_ns))
        with readable(handle) as opened:
            self._read(opened, key, begun, seen.st_size)
            if identity(os.fstat(opened)) != key:
                raise FileUnusable(f"{shown(str(self._path))} is being written; ask again when it is complete")
        self._memory.finish(key, begun)
        return begun.digest

    def _read(self, opened: int, key: bytes, begun: Begun, size: int) -> None:
        while piece := os.pread(opened, PIECE, begun.offset):
            begun.add(piece)
            try:
                if begun.offset < size:
                    self._budget.check()
            except Spent:
                self._memory.pause(key, begun)
                raise


def hashed(kind: bytes, what: bytes) -> bytes:
    """The digest of something of this kind."""
    return sha256(kind + b"\0" + what).digest()


def eight(number: int) -> bytes:
    """A number in eight bytes, the highest first."""
    return number.to_bytes(8, "big", signed=True)
