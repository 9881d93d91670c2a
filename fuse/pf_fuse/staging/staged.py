"""Files that are written: on the local disk until they are uploaded."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Protocol

from pf_backends.entries import Condition, Entry, Facts, Kind
from pf_backends.port import NO_FACTS
from pf_fuse.staging.ahead import Ahead
from pf_fuse.staging.disk import sync_folder

_SECOND = 1_000_000_000
_ENDLESS = 1 << 63
_NAME_MOST = 240
"""Bytes of a name that is left room for a number; disks take 255."""


class Print(NamedTuple):
    """By which bytes are known that are not here any more."""

    size: int
    digest: bytes


class Known(Protocol):
    """What is written down of a staged file."""

    @property
    def made_of(self) -> str: ...

    @property
    def only_new(self) -> bool: ...

    @property
    def facts(self) -> Facts: ...

    @property
    def uploaded(self) -> Entry | None:
        """None: the backend does not have what is here."""

    @property
    def owed(self) -> bool: ...

    @property
    def sending(self) -> bool: ...

    @property
    def maybe(self) -> Sequence[Print]: ...

    @property
    def there(self) -> int | None: ...


@dataclass(slots=True, eq=False)
class Staged:
    """A file that is written here. Whoever calls holds the lock of the tree, but for reading and writing bytes."""

    file: Path
    descriptor: int
    made_of: str = ""
    """The version that it takes the place of; empty if that does not matter."""
    only_new: bool = False
    """True if nothing may lie there when it is uploaded for the first time."""
    facts: Facts = NO_FACTS
    dirty: bool = True
    """True as long as the backend does not have what is here."""
    uploaded: Entry | None = None
    """What the backend has of it, from here."""
    upload: Future[None] | None = None
    """One that is under way: nothing is written until it has ended."""
    before: int = 0
    """The time of the version whose place it takes."""
    there: int | None = None
    """Bytes of that version; None if there is none."""
    gate: Lock = field(default_factory=Lock)
    """Held by who writes bytes without the lock of the tree, and while an upload begins."""
    front: int = 0
    """Bytes from the beginning that were written in sequence."""
    ahead: Ahead | None = None
    """What is sent of it while it is written."""
    owed: bool = False
    """Somebody who closed it was told that it will be uploaded."""
    sending: bool = False
    """It is being uploaded, or was when the process before ended: the backend may have what is here."""
    maybe: Sequence[Print] = ()
    """What the backend may have, as it has not said what became of uploads."""
    printed: tuple[int, Print] | None = None
    """What is here after so many changes."""
    changes: int = 0
    """How often its bytes became others."""
    safe: int = -1
    """After so many changes what was here, and that it is owed, was on the disk."""
    named: bool = False
    """Its name is on the disk, too."""

    def entry(self, path: str) -> Entry:
        """What lies at the path for whoever looks from here."""
        if not self.dirty and self.uploaded:
            return replace(self.uploaded, path=path)
        found = os.fstat(self.descriptor)
        version = f"here-{found.st_mtime_ns}"
        return Entry(path, Kind.FILE, found.st_size, self.modified(found), version, self.facts.mode, self.facts.owner)

    def modified(self, found: os.stat_result | None = None) -> int:
        """When it was written last, or as was set. No two versions bear one time, however slow the disk's clock is."""
        if self.facts.modified is not None:
            return self.facts.modified
        written = (found or os.fstat(self.descriptor)).st_mtime_ns
        return self.before + 1 if written <= self.before < written + _SECOND else written

    @property
    def size(self) -> int:
        return os.fstat(self.descriptor).st_size

    @property
    def more(self) -> int:
        """Bytes that there will be more than the backend has; less than none where it was cut."""
        return self.size - (self.there or 0)

    @property
    def condition(self) -> Condition:
        """What must lie at the path for an upload to take nothing from anybody."""
        return Condition(version=self.made_of, absent=self.only_new)

    def arrived(self, entry: Entry) -> None:
        """The backend has what is here."""
        self.uploaded, self.dirty, self.before, self.there = entry, False, entry.modified, entry.size
        self.made_of, self.only_new, self.owed = entry.version, False, False
        self.sending, self.maybe = False, ()

    def carry(self, entry: Entry) -> None:
        """The backend has what it has of it somewhere else, or as another version."""
        self.made_of = entry.version
        if not self.dirty:
            self.uploaded = entry

    def written(self, start: int, end: int) -> None:
        """Bytes are others now. The front decides only what is sent early."""
        self.changes += 1
        if start == self.front:
            self.front = end
        if self.ahead:
            self.ahead.written(start, end, self.front)

    def cut(self, size: int) -> None:
        """It ends here now, or is longer by zeros."""
        self.changes += 1
        self.front = min(self.front, size)
        if self.ahead:
            self.ahead.written(size, _ENDLESS, self.front)

    def drop_ahead(self) -> None:
        """What was sent of it while it was written is of no use any more."""
        if self.ahead:
            self.ahead.drop()
            self.ahead = None

    @property
    def written_to(self) -> bool:
        """What is here is newer than what the backend has, and of the time at which it was written."""
        return self.dirty and self.facts.modified is None

    def touched(self) -> None:
        """It will be written to."""
        self.changes += 1
        self.dirty = True
        self.facts = replace(self.facts, modified=None)


class Stage:
    """The folder where files are that are written."""

    def __init__(self, folder: Path, new_name: Callable[[], str], done: Callable[[Staged], None] | None = None) -> None:
        """`done`: what becomes of those that are needed no more; None: they are removed."""
        self._folder = folder
        self._done = done or discard
        self._new_name = new_name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def begin(self, *, made_of: str = "", only_new: bool = False, facts: Facts = NO_FACTS, before: int = 0) -> Staged:
        """An empty one."""
        file = self._folder / self._new_name()
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        return Staged(file, descriptor, made_of, only_new, facts, before=before)

    @contextmanager
    def beginning(self, staged: Staged) -> Iterator[None]:
        """Nothing is left of it if the block fails."""
        try:
            yield
        except BaseException:
            self.end(staged)
            raise

    def take_up(self, name: str, known: Known) -> Staged | None:
        """One of the process before, with what that knew of it; None if it is not there any more."""
        file = self._folder / name
        try:
            descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        dirty = known.uploaded is None
        staged = Staged(file, descriptor, known.made_of, known.only_new, known.facts, dirty, known.uploaded)
        staged.front, staged.owed, staged.sending, staged.maybe = staged.size, known.owed, known.sending, known.maybe
        staged.there = known.uploaded.size if known.uploaded else known.there
        return staged

    def secure(self, staged: Staged) -> None:
        """Its bytes are there also when the machine goes down. Blocks."""
        os.fdatasync(staged.descriptor)
        if not staged.named:
            sync_folder(self._folder)
            staged.named = True

    def end(self, staged: Staged) -> None:
        """It is needed no more."""
        staged.drop_ahead()
        self._done(staged)

    def keep(self, staged: Staged, folder: Path, name: str) -> Path:
        """What could not be uploaded goes where people find it."""
        staged.drop_ahead()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        kept = free_place(folder, name or "without a name")
        staged.file.rename(kept)
        os.close(staged.descriptor)
        return kept

    def clear(self, needed: set[str]) -> None:
        """Removes what nobody goes on with."""
        for file in self._folder.iterdir():
            if file.name not in needed:
                file.unlink(missing_ok=True)


def free_place(folder: Path, name: str) -> Path:
    """Where nothing is yet in a folder: what was put aside before is called so, too, then."""
    short = os.fsdecode(os.fsencode(name)[:_NAME_MOST])
    places = (folder / (f"{short}.{number}" if number else short) for number in count())
    return next(place for place in places if not place.exists())


def discard(staged: Staged) -> None:
    """Nothing is left of it."""
    os.close(staged.descriptor)
    staged.file.unlink(missing_ok=True)
