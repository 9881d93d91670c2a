"""The files of a log of rounds: lines of JSON in gzip members, each of which stands by itself.

A file that was cut off anywhere is good up to its last whole member.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

PREFIX, SUFFIX = "rounds-", ".jsonl.gz"
MEMBER = 2**18
"""Bytes of lines that are compressed together, as soon as there are so many."""
LEVEL = 1
"""Of compression: higher ones take several times as long for files that are a fifth smaller."""
GZIP = 31
"""What zlib calls a window of 32 KiB, with the header and the checksum of gzip."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """Where segments are kept, and how many."""

    folder: Path
    segment_bytes: int
    """After so many, the next one is begun."""
    segments: int

    @property
    def most_bytes(self) -> int:
        """Of all segments."""
        return self.segments * self.segment_bytes


def segments(folder: Path) -> Sequence[Path]:
    """All segments in a folder, oldest first."""
    return sorted(path for path in folder.iterdir() if path.name.startswith(PREFIX) and path.name.endswith(SUFFIX))


def forget(keeping: Keeping, newest: Path) -> None:
    """Deletes the oldest beside the newest, until no more files and bytes are left than may be kept."""
    older = [path for path in segments(keeping.folder) if path != newest]
    sizes = {path: path.stat().st_size for path in (*older, newest)}
    while older and (len(older) >= keeping.segments or sum(sizes.values()) > keeping.most_bytes):
        oldest, *older = older
        del sizes[oldest]
        oldest.unlink(missing_ok=True)


@dataclass(slots=True)
class Segment:
    """A file that is being written. Its methods raise OSError."""

    descriptor: int
    path: Path
    written: int = 0
    """Bytes of whole members."""
    _lines: list[bytes] = field(default_factory=list)
    _size: int = 0

    @classmethod
    def begun(cls, folder: Path) -> Segment:
        """A new file, which nobody else may read: it names users."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        path = folder / f"{PREFIX}{moment}-{os.getpid()}{SUFFIX}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return cls(os.open(path, flags, 0o600), path)

    def add(self, line: str) -> None:
        self._lines.append(line.encode() + b"\n")
        self._size += len(line)
        if self._size >= MEMBER:
            self.flush()

    def flush(self) -> None:
        """Writes what was added. If that fails, the file ends with the last whole member."""
        if not self._lines:
            return
        packer = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
        packed = packer.compress(b"".join(self._lines)) + packer.flush()
        self._lines, self._size = [], 0
        try:
            left = memoryview(packed)
            while left:
                left = left[os.write(self.descriptor, left) :]
        except OSError:
            os.ftruncate(self.descriptor, self.written)
            raise
        self.written += len(packed)

    def close(self) -> None:
        os.close(self.descriptor)
