"""What is known of a cached file: whose bytes it has, and the seal of each page that is there.

A page is there if it has a seal. The seal is written after the page, so whoever is killed in between leaves a page
that is not there. What a machine that lost its power left is found out by the seal, which is checked when a process
reads the page for the first time.
"""

from __future__ import annotations

import struct
from array import array
from dataclasses import dataclass

from crc32c import crc32c

from pf_fuse.pages.keys import PAGE, Key, pages_of

MARK = b"PFp1"
HEAD = struct.Struct("=4sIQIIII")
"""The mark, the checksum of what follows of the head, the size of the file, where the seals begin, and how long the
parts of the key are. In the byte order of the machine: a cache does not move.
"""
CHECK = struct.Struct("=I")
UNCHECKED = 8
"""Bytes at the beginning that the checksum leaves out."""
SEAL = 4
"""Bytes of a seal: the CRC32C of the page, or 1 instead of 0; 0 if the page is not there."""


@dataclass(slots=True)
class Sheet:
    """What is known of a cached file."""

    key: Key
    size: int
    seals: array[int]
    _head: bytes = b""

    @property
    def head(self) -> bytes:
        """What comes before the seals. With these it is the sheet, encoded."""
        if not self._head:
            self._head = _head(self.key, self.size)
        return self._head

    @property
    def whole(self) -> bool:
        return 0 not in self.seals


def new_sheet(key: Key, size: int) -> Sheet:
    """That of a file of which nothing is there."""
    return Sheet(key, size, array("I", bytes(SEAL * pages_of(size))))


def seal(page: bytes | memoryview) -> int:
    return crc32c(page) or 1


def seals(data: memoryview) -> list[int]:
    """Of bytes that begin where a page begins."""
    return [seal(data[start : start + PAGE]) for start in range(0, len(data), PAGE)]


def _head(key: Key, size: int) -> bytes:
    words = [word.encode("utf-8", "surrogateescape") for word in key]
    text = b"".join(words)
    begin = -(-(HEAD.size + len(text)) // SEAL) * SEAL
    made = (HEAD.pack(MARK, 0, size, begin, *map(len, words)) + text).ljust(begin, b"\0")
    return MARK + CHECK.pack(crc32c(memoryview(made)[UNCHECKED:])) + made[UNCHECKED:]


def decode(data: bytes) -> Sheet | None:
    """None if that is no sheet. Seals that are missing at the end are of pages that are not there."""
    if len(data) < HEAD.size or data[:4] != MARK:
        return None
    _, checked, size, begin, *lengths = HEAD.unpack_from(data)
    if begin > len(data) or crc32c(data[UNCHECKED:begin]) != checked:
        return None
    words, at = [], HEAD.size
    for length in lengths:
        words.append(data[at : at + length].decode("utf-8", "surrogateescape"))
        at += length
    found = array("I", data[begin : len(data) - (len(data) - begin) % SEAL])
    found.extend([0] * (pages_of(size) - len(found)))
    return Sheet(Key(*words), size, found, bytes(data[:begin]))
