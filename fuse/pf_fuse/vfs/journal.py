"""What a process that goes on with a mount must know of what the kernel was told by the one before.

Records are written before the kernel is told, and are there for the next process as soon as they are written. Most need
not outlive the machine, as the mount does not either; those that somebody counts on are synced.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import msgspec

from pf_backends.entries import Entry, Facts, Kind
from pf_backends.port import NO_FACTS
from pf_fuse.operations import TOP
from pf_fuse.staging.disk import of_disk, sync_folder
from pf_fuse.staging.staged import Print

logger = logging.getLogger(__name__)


class NamedAt(msgspec.Struct, frozen=True, tag="n", array_like=True):
    """The kernel knows a node, which has this name now."""

    node: int
    folder: int
    """0: the node is open, and has no name any more; -1: as it was removed here."""
    kind: Kind
    name: bytes


class Forgotten(msgspec.Struct, frozen=True, tag="f", array_like=True):
    """The kernel does not know the node any more."""

    node: int


class OpenAt(msgspec.Struct, frozen=True, tag="o", array_like=True):
    """A version of a file is open."""

    node: int
    path: bytes
    """Where the version lay when it was opened."""
    version: str
    size: int
    modified: int
    past: bool = False
    """It is read and written past the kernel's cache."""


class Closed(msgspec.Struct, frozen=True, tag="c", array_like=True):
    """The file is open no more."""

    node: int


class Backed(msgspec.Struct, frozen=True, tag="b", array_like=True):
    """The kernel reads by itself the version that is open, from a file that was registered with it."""

    node: int
    backing: int
    """0: no more."""


class StagedIn(msgspec.Struct, frozen=True, tag="s", array_like=True):
    """A file is written here."""

    node: int
    file: str
    """Its name in the stage; empty: it is written here no more."""
    made_of: str = ""
    only_new: bool = False
    facts: Facts = NO_FACTS
    uploaded: Entry | None = None
    """Without its path. None: the backend does not have what is here."""
    owed: bool = False
    """Somebody who closed it was told that it will be uploaded."""
    sending: bool = False
    """It is being uploaded."""
    maybe: tuple[Print, ...] = ()
    """What the backend may have of it, as it has not said what became of uploads."""
    there: int | None = None
    """Bytes of the version whose place it takes."""


Record: TypeAlias = NamedAt | Forgotten | OpenAt | Closed | Backed | StagedIn

_LENGTH = 4
"""Bytes before each record that tell how long it is."""


class Journal:
    """A file to which records are added."""

    def __init__(self, path: Path, *, lasting: bool = False) -> None:
        """`lasting`: what is synced outlives the machine."""
        self._path = path
        self._lasting = lasting
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder: msgspec.msgpack.Decoder[Record] = msgspec.msgpack.Decoder(Record)
        self._descriptor = self._opened(path)
        self.size = os.fstat(self._descriptor).st_size
        """In bytes."""
        self._late = b""
        """Put, and not written yet."""
        self._holds = False

    @contextmanager
    def holding(self) -> Iterator[None]:
        """What the block puts is written with what is put after it, unless the journal is replaced before."""
        self._holds = True
        try:
            yield
        finally:
            self._holds = False

    def put(self, records: Iterable[Record]) -> None:
        """Adds records, all of them or none: on a full disk a part would hide those that are added later."""
        data = self._late + b"".join(map(self._framed, records))
        if self._holds:
            self._late = data
            return
        with of_disk():
            try:
                _write(self._descriptor, data)
            except OSError:
                os.ftruncate(self._descriptor, self.size)
                raise
        self.size += len(data)
        self._late = b""

    def read(self) -> Iterator[Record]:
        """All records, in order, up to what was cut off by the end of a process or of the machine."""
        data = memoryview(self._path.read_bytes())
        while len(data) >= _LENGTH:
            end = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
            if len(data) < end:
                return
            try:
                record = self._decoder.decode(data[_LENGTH:end])
            except msgspec.DecodeError:
                logger.warning("a journal goes on with what is no record", extra={"path": str(self._path)})
                return
            yield record
            data = data[end:]

    def syncing(self) -> Callable[[], None]:
        """When it is called, all that was put so far outlives the machine. It blocks; others may put meanwhile."""
        descriptor = os.dup(self._descriptor)

        def sync() -> None:
            try:
                os.fdatasync(descriptor)
            finally:
                os.close(descriptor)

        return sync

    def replace(self, records: Sequence[Record]) -> None:
        """Only these from now on; seen whole or not at all."""
        beside = self._path.with_suffix(".new")
        data = b"".join(map(self._framed, records))
        descriptor = self._opened(beside)
        try:
            os.ftruncate(descriptor, 0)
            _write(descriptor, data)
            if self._lasting:
                os.fsync(descriptor)
            beside.rename(self._path)
        except OSError:
            os.close(descriptor)
            # It may be what fills the disk.
            beside.unlink(missing_ok=True)
            raise
        os.close(self._descriptor)
        self._descriptor, self.size, self._late = descriptor, len(data), b""
        if self._lasting:
            sync_folder(self._path.parent)

    def _framed(self, record: Record) -> bytes:
        data = self._encoder.encode(record)
        return len(data).to_bytes(_LENGTH, "little") + data

    @staticmethod
    def _opened(path: Path) -> int:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def staged_paths(journal: Path) -> Mapping[str, str]:
    """Where the files belong that are written here, by their names in the stage, as far as they have a place."""
    named, staged = dict[int, NamedAt](), dict[int, str]()
    for record in Journal(journal).read() if journal.exists() else ():
        match record:
            case NamedAt():
                named[record.node] = record
            case Forgotten():
                named.pop(record.node, None)
            case StagedIn():
                staged[record.node] = record.file
    return {file: path for node, file in staged.items() if file and (path := _path(named, node))}


def _path(named: Mapping[int, NamedAt], node: int) -> str:
    """Empty if it is in no folder any more."""
    names = list[str]()
    while node != TOP:
        found = named.get(node)
        if found is None or found.folder <= 0:
            return ""
        names.append(os.fsdecode(found.name))
        node = found.folder
    return "/".join(reversed(names))


def _write(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
