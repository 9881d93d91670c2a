"""Reads the files of a log of rounds, whoever may have made them: what is in them is never taken for more than text."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from pf_queue.admission.journal.segments import GZIP

MOST_MEMBER = 2**28
"""Bytes of lines in one member: more than any turn has. A few bytes can be made to unpack to as many as one likes."""
AT_ONCE = 2**16


class Damaged(Exception):
    """From a place on, a file does not hold what was written into it."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a member that is whole."""

    text: bytes
    read: int
    """Bytes of the file, up to the end of the member in which it stands."""


class SegmentFile:
    """The lines of a file, member by member."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0
        self._rest = b""
        self.torn = False
        """True if the file ended within a member, as it does if its writer was killed, or the machine was."""

    def lines(self) -> Iterator[Line]:
        """The lines of all members that are whole. Raises OSError and Damaged."""
        with self._path.open("rb") as file:
            while (member := self._member(file)) is not None:
                for text in member.splitlines():
                    yield Line(text, self._position)

    def _member(self, file: BinaryIO) -> bytes | None:
        """What the next member holds; None at the end."""
        unpacker = zlib.decompressobj(GZIP)
        found: list[bytes] = []
        size, length = 0, 0
        while not unpacker.eof:
            packed = unpacker.unconsumed_tail or self._rest or file.read(AT_ONCE)
            if not packed:
                self.torn = length > 0
                return None
            if not unpacker.unconsumed_tail:
                self._rest = b""
                length += len(packed)
            found.append(self._unpacked(unpacker, packed))
            size += len(found[-1])
            if size > MOST_MEMBER:
                raise Damaged(f"unpacks to more than {MOST_MEMBER} bytes at byte {self._position}")
        self._rest = unpacker.unused_data
        self._position += length - len(self._rest)
        return b"".join(found)

    def _unpacked(self, unpacker: zlib._Decompress, packed: bytes) -> bytes:
        try:
            return unpacker.decompress(packed, 2**20)
        except zlib.error as error:
            what = f"is damaged from byte {self._position} on" if self._position else "is no log of rounds"
            raise Damaged(f"{what}: {error}") from error
