"""What is cached is found by, and the extents of it."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

PAGE = 128 * 1024
"""Bytes that are kept or not, and checked, together: what the kernel reads ahead by itself at first."""


class Key(NamedTuple):
    """One version of one file: its bytes never change."""

    address: str
    """Of the backend."""
    path: str
    version: str

    @property
    def name(self) -> str:
        """What it is called on the disk; tells nothing of the file."""
        return _name(self)


@lru_cache(maxsize=1024)
def _name(key: Key) -> str:
    """Worked out once while a file is looked up, ordered, taken and opened."""
    text = f"{len(key.address)} {len(key.path)} {key.address}{key.path}{key.version}"
    return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=20).hexdigest()


class Extent(NamedTuple):
    """Bytes from one offset up to another."""

    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start


def pages_of(size: int) -> int:
    """How many pages a file of this size has."""
    return -(-size // PAGE)
