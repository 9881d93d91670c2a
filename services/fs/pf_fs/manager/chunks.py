"""Parts of uploads that arrive in pieces, until they are whole."""

from __future__ import annotations

import tempfile
from collections import OrderedDict
from dataclasses import dataclass
from typing import IO

from paddleflow.problems import Overloaded
from pf_kit.clock import Clock

MOST = 64
"""Parts at once, of all callers: each takes an open file, and at most its size on the disk."""
MOST_OF_USER = 16
IDLE = 120.0
"""Seconds after which a part makes room for others."""


@dataclass(frozen=True, slots=True)
class PartKey:
    """Which part of which upload."""

    user: str
    filesystem_id: str
    upload_id: str
    number: int


@dataclass(slots=True)
class _Growing:
    file: IO[bytes]
    size: int
    touched: float


class Chunks:
    """Pieces on the disk of this instance. What is lost with it is sent again."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._parts: OrderedDict[PartKey, _Growing] = OrderedDict()

    def add(self, key: PartKey, offset: int, data: bytes) -> int:
        """Keeps a piece if it is the next one of its part; where the next one begins."""
        try:
            return self._add(key, offset, data)
        except OSError as error:
            self.forget(key)
            raise Overloaded(f"there is no room for parts: {error.strerror}; try again", retry_after=5.0) from None

    def whole(self, key: PartKey) -> bytes:
        """All pieces of a part, which is kept until it is forgotten."""
        growing = self._parts[key]
        growing.file.seek(0)
        return growing.file.read()

    def forget(self, key: PartKey) -> None:
        if growing := self._parts.pop(key, None):
            growing.file.close()

    def _add(self, key: PartKey, offset: int, data: bytes) -> int:
        if offset == 0:
            self.forget(key)
            self._make_room(key)
            file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - kept until it is forgotten
            self._parts[key] = _Growing(file, 0, 0.0)
        growing = self._parts.get(key)
        if growing is None:
            return 0
        if offset == growing.size:
            growing.size += _written(growing.file, data)
        growing.touched = self._clock.monotonic()
        self._parts.move_to_end(key)
        return growing.size

    def _make_room(self, key: PartKey) -> None:
        now = self._clock.monotonic()
        for old in [each for each, growing in self._parts.items() if now - growing.touched > IDLE]:
            self.forget(old)
        of_user = sum(each.user == key.user for each in self._parts)
        if len(self._parts) >= MOST or of_user >= MOST_OF_USER:
            raise Overloaded("too many parts are being sent at once; try again", retry_after=1.0)


def _written(file: IO[bytes], data: bytes) -> int:
    """A full disk takes a part of the data first, and refuses the rest."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
    return len(data)
