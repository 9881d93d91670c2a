"""How bytes are checked that go to data nodes and come from them: each few hundred have a number of their own."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import crc32c
from isal import isal_zlib

from pf_backends.hdfs.hadoop_pb2 import Checksum
from pf_backends.wire.messages import Broken

_WIDTH = 4
_Sum = Callable[[memoryview], int]
_SUMS: Mapping[int, _Sum] = {1: isal_zlib.crc32, 2: crc32c.crc32c}


@dataclass(frozen=True, slots=True)
class Checks:
    """One way to check."""

    kind: int
    size: int
    """Bytes that have a number."""

    @property
    def told(self) -> Checksum:
        return Checksum(kind=self.kind, size=self.size)

    def of(self, data: memoryview) -> bytes:
        """The numbers of bytes, of which the first begin a piece."""
        size, number = self.size, _SUMS[self.kind]
        found = [number(data[start : start + size]) for start in range(0, len(data), size)]
        return struct.pack(f">{len(found)}I", *found)

    def width(self, size: int) -> int:
        """Bytes that the numbers of so many bytes have."""
        return -(-size // self.size) * _WIDTH if self.kind else 0

    def are_right(self, data: memoryview, numbers: memoryview) -> bool:
        return not self.kind or self.of(data) == numbers


def checks(told: Checksum) -> Checks:
    """Raises Broken if it is one that nobody knows."""
    if told.kind and (told.kind not in _SUMS or not 0 < told.size <= 1 << 24):
        raise Broken(f"checks bytes in a way that is not known: {told.kind}, {told.size}")
    return Checks(told.kind, told.size)
