"""What the contents of files were found to be, as long as the files are the same to the machine."""

from __future__ import annotations

import os
import struct
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from hashlib import _Hash

V = TypeVar("V")

MOST_KNOWN = 200_000
"""Digests, 50 MB of them."""
MOST_BEGUN = 100
"""Files that were read in part."""
SETTLED_NS = 2_000_000_000
"""After so long a change shows in the times of a file, whose clock may tick as slowly as once in two seconds."""


def identity(seen: os.stat_result) -> bytes:
    """What changes if the content of a file does."""
    return struct.pack("<QQqqq", seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)


@dataclass(slots=True)
class Begun:
    """A file that was read so far."""

    settled: bool
    """True if the file was settled when this began: only then it is known that nothing changed since."""
    offset: int = 0
    _hash: _Hash = field(default_factory=sha256)

    def add(self, piece: bytes) -> None:
        self._hash.update(piece)
        self.offset += len(piece)

    @property
    def digest(self) -> bytes:
        return self._hash.digest()


class Memory:
    """Shared by all threads. What was not asked for longest is forgotten first."""

    def __init__(self, now_ns: Callable[[], int]) -> None:
        """The time as files have it: nanoseconds since the epoch."""
        self._now_ns = now_ns
        self._lock = Lock()
        self._known: OrderedDict[bytes, bytes] = OrderedDict()
        self._begun: OrderedDict[bytes, Begun] = OrderedDict()

    def known(self, key: bytes) -> bytes | None:
        """The digest of a file of this identity."""
        with self._lock:
            if (digest := self._known.get(key)) is not None:
                self._known.move_to_end(key)
            return digest

    def begin(self, key: bytes, changed_ns: int) -> Begun:
        """A file that was changed at that time, read as far as it was before."""
        with self._lock:
            settled = self._now_ns() - changed_ns > SETTLED_NS
            return self._begun.pop(key, None) or Begun(settled)

    def pause(self, key: bytes, begun: Begun) -> None:
        """Keeps what was read of a file."""
        if begun.settled:
            with self._lock:
                _put(self._begun, key, begun, MOST_BEGUN)

    def finish(self, key: bytes, begun: Begun) -> None:
        """Keeps the digest of a file that was read to its end."""
        if begun.settled:
            with self._lock:
                _put(self._known, key, begun.digest, MOST_KNOWN)


def _put(kept: OrderedDict[bytes, V], key: bytes, value: V, most: int) -> None:
    kept[key] = value
    if len(kept) > most:
        kept.popitem(last=False)
