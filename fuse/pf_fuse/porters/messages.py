"""What a mount and its porters tell each other over a socket that only they have: one thing in each packet."""

from __future__ import annotations

import errno
import os

import msgspec

from pf_backends.entries import Entry, Kind
from pf_fuse.pages.stored import Kept

LARGEST = 131_072
"""Bytes of the packet that tells a porter what it works for."""
PACKET = 32_768
"""Bytes of any other."""
LONGEST_WHY = 500
READY = b"ready"
"""What a porter says first."""


class Order(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A small file that is to be brought into the cache, or to be checked in it."""

    number: int
    folder: int
    """Of the cache, by its place among them."""
    path: bytes
    version: bytes
    size: int
    here: bool
    """It is in the cache, and is read again: nobody has since it was mounted."""

    @property
    def entry(self) -> Entry:
        return Entry(os.fsdecode(self.path), Kind.FILE, self.size, version=os.fsdecode(self.version))


class Report(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What became of an order. Without an error and a file, another version lies there by now.

    A descriptor of the file in the cache comes along with it, with the lock that belongs to the file.
    """

    number: int
    kept: Kept | None = None
    """The file in the cache; None if there was no room for it, or somebody else has it."""
    modified: int | None = None
    """Of the file that was fetched; None if there is none."""
    mode: int | None = None
    owner: tuple[int, int] | None = None
    error: int = 0
    why: str = ""


def order(number: int, folder: int, entry: Entry, *, here: bool) -> Order:
    return Order(number, folder, os.fsencode(entry.path), os.fsencode(entry.version), entry.size, here)


def checked(number: int, kept: Kept | None) -> Report:
    """Without a file: what lies at its path by now was not asked."""
    return Report(number, kept)


def delivered(number: int, found: Entry, kept: Kept | None) -> Report:
    return Report(number, kept, found.modified, found.mode, found.owner)


def failed(number: int, error: OSError) -> Report:
    return Report(number, error=error.errno or errno.EIO, why=(error.strerror or str(error))[:LONGEST_WHY])


def found(ordered: Entry, report: Report) -> Entry | None:
    """What was fetched."""
    if report.modified is None:
        return None
    return Entry(
        ordered.path, Kind.FILE, ordered.size, report.modified, ordered.version, mode=report.mode, owner=report.owner
    )


_encode = msgspec.msgpack.Encoder().encode
_order = msgspec.msgpack.Decoder(Order).decode
_report = msgspec.msgpack.Decoder(Report).decode


def packet(thing: Order | Report) -> bytes:
    return _encode(thing)


def order_of(data: bytes) -> Order:
    return _order(data)


def report_of(data: bytes) -> Report:
    return _report(data)
