"""Renaming where a backend cannot: by copies, after which what was copied is removed.

Of a folder it is written down that it is renamed before anything is done, so that the next process goes on where one
ended. Copies are of what lies there at the time; what that process copied is not copied again. What others write while
it is copied is copied again before anything is removed. What they write between the last look and the removal is lost
where the backend removes whatever lies there: of a folder it always does.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from pf_backends.entries import Condition, Entry, Kind, Page, Renames
from pf_backends.errors import Changed, Unsupported, changed, failure
from pf_backends.port import ANYTHING, Backend
from pf_backends.renaming import renames_at, require_renamable
from pf_backends.walking import pages_below
from pf_fuse.staging.notes import Notes
from pf_fuse.staging.refusals import is_refusal

T = TypeVar("T")

_MOST = 64 << 20
"""Bytes of a file that is copied through here where the backend cannot copy by itself."""
_LOOKS = 5
"""How often it is looked whether what was copied is what lies there, before it is removed."""


class Move(msgspec.Struct, frozen=True):
    """A folder is being renamed."""

    source: str
    target: str


class Copied(NamedTuple):
    """A file was renamed by a copy."""

    version: str
    """Of what was copied."""
    made: Entry
    """The copy, whatever lies there by now: it may bear another version."""


class _Moving(NamedTuple):
    """How a folder is renamed now."""

    source: str
    target: str
    copied: dict[str, Copied | None]
    """Of files in it that are open: what they were copied to."""
    begun: bool = False
    """By a process before: what lies at the target may be its copies."""
    stepped: Callable[[], None] = lambda: None

    def moved(self, path: str) -> str:
        return _moved(path, self.source, self.target)


class Renamer:
    """Renames files and folders of a backend. Blocks."""

    def __init__(self, backend: Backend, notes: Notes[Move], copiers: Executor) -> None:
        self._backend = backend
        self._notes = notes
        self._copiers = copiers

    def file(self, source: str, target: str, *, replace_it: bool = True) -> Copied | None:
        """What the target is a copy of; None if it is no copy. FileExistsError if it may not replace what is there."""
        if renames_at(self._backend, source) is not Renames.NOTHING:
            self._backend.rename(source, target, replace=replace_it)
            return None
        made: Entry | None = None

        def copy() -> Entry:
            nonlocal made
            made = self._copy(source, target) if replace_it else self._copy_new(source, target, made)
            return made

        return Copied(*moved_by_copy(self._backend, source, copy))

    def folder(
        self, source: str, target: str, open_files: Collection[str] = (), *, replace_it: bool = True
    ) -> Mapping[str, Copied | None]:
        """Of files in it that are open: what their targets are copies of, where they are copies.

        FileExistsError if there is something at the target, and the backend cannot rename folders.
        """
        if renames_at(self._backend, source) is Renames.TREES:
            self._backend.rename(source, target, replace=replace_it)
            return {}
        moving = _Moving(source, target, dict.fromkeys(open_files))
        with self._notes.note(Move(source, target)):
            # Also if it is empty: others may put something into it at any time.
            self._backend.make_folder(target)
            self._move(moving)
        return moving.copied

    def require_movable(self, source: str, target: str, open_files: Collection[str]) -> None:
        """What is found to lie elsewhere, or to be too long, only amid it would leave some under each of the names."""
        require_renamable(self._backend, source, target)
        can = self._backend.capabilities
        longer = len(os.fsencode(target)) - len(os.fsencode(source))
        if renames_at(self._backend, source) is Renames.TREES or can.longest is None or longer <= 0:
            return
        there = (entry.path for entries in pages_below(self._backend, source) for entry in entries)
        for path in chain(open_files, there):
            if len(os.fsencode(path)) + longer > can.longest:
                moved = _moved(path, source, target)
                raise failure(errno.ENAMETOOLONG, moved, f"files have paths of at most {can.longest} bytes here")

    def left(self) -> Sequence[tuple[Path, Move]]:
        """What processes before have begun, and the notes of it."""
        return list(self._notes.left())

    def go_on(
        self, note: Path, move: Move, open_files: Collection[str], stepped: Callable[[], None]
    ) -> Mapping[str, Copied | None]:
        """As `folder`, with what was begun before. A refusal is the end of it; what else fails leaves it begun."""
        moving = _Moving(move.source, move.target, dict.fromkeys(open_files), begun=True, stepped=stepped)
        try:
            self._folder_at(move.target)
            self._move(moving)
        except OSError as error:
            if is_refusal(error):
                note.unlink(missing_ok=True)
            raise
        note.unlink(missing_ok=True)
        return moving.copied

    def _move(self, moving: _Moving) -> None:
        folders = [moving.source]
        for entries in self._copied(moving):
            folders += [entry.path for entry in entries if entry.kind is Kind.FOLDER]
            files = _files(entries)
            for error in self._backend.remove_many([entry.path for entry in files]):
                if error:
                    raise error
            moving.stepped()
        for folder in sorted(folders, key=len, reverse=True):
            with suppress(FileNotFoundError):
                self._backend.remove_folder(folder)

    def _copied(self, moving: _Moving) -> Iterator[Sequence[Entry]]:
        """What lies below a folder, page by page: files are removed once they are read, folders at the end."""
        rest = ""
        while True:
            page = self._copied_page(moving, rest)
            yield page.entries
            rest = page.rest
            if not rest:
                return

    def _copied_page(self, moving: _Moving, rest: str) -> Page:
        """What was just looked at once more, and found to be what was copied: others may have written meanwhile."""
        page, copied = self._backend.walk(moving.source, rest=rest), dict[str, str]()
        for _ in range(_LOOKS):
            self._copy_all(page.entries, moving, copied)
            if not _files(page.entries):
                return page
            page = self._backend.walk(moving.source, rest=rest)
            if all(copied.get(entry.path) == entry.version for entry in page.entries):
                return page
        raise _too_fast(moving.source)

    def _copy_all(self, entries: Sequence[Entry], moving: _Moving, copied: dict[str, str]) -> None:
        """But for what was copied before, as it is."""

        def copy(entry: Entry) -> None:
            moved = moving.moved(entry.path)
            # Times may be too coarse to tell a copy from what came after it, and what is newer may be another client's.
            once = moving.begun and entry.path not in copied
            made = self._copy_once(entry, moved) if once else self._copy(entry.path, moved)
            if entry.path in moving.copied:
                moving.copied[entry.path] = Copied(entry.version, made)
            moving.stepped()

        for entry in entries:
            if entry.kind is Kind.FOLDER:
                self._folder_at(moving.moved(entry.path))
        list(self._copiers.map(copy, [each for each in _files(entries) if copied.get(each.path) != each.version]))
        copied |= {entry.path: entry.version for entry in entries}

    def _folder_at(self, path: str) -> None:
        with suppress(FileExistsError):
            self._backend.make_folder(path)

    def _copy_once(self, entry: Entry, target: str) -> Entry:
        with suppress(FileNotFoundError):
            there = self._backend.stat(target)
            if there.modified > entry.modified or (there.size, there.modified) == (entry.size, entry.modified):
                return there
        return self._copy(entry.path, target)

    def _copy_new(self, source: str, target: str, before: Entry | None) -> Entry:
        """To where there is nothing, or still what was copied there before; FileExistsError otherwise."""
        condition = Condition(version=before.version) if before else Condition(absent=True)
        try:
            return self._copy(source, target, condition)
        except Changed:
            # It may be the source that has changed.
            with suppress(FileNotFoundError):
                if self._backend.stat(target).version != (before and before.version):
                    raise failure(errno.EEXIST, target, "there is something of this name already") from None
            raise

    def _copy(self, source: str, target: str, condition: Condition = ANYTHING) -> Entry:
        with suppress(Unsupported):
            return self._backend.copy(source, target, condition=condition)
        entry, data = self._backend.fetch(source, limit=_MOST)
        if len(data) != entry.size:
            raise failure(errno.EIO, source, "it was cut off while it was copied")
        return self._backend.put(target, data, facts=self._backend.attributes(source), condition=condition)


def moved_by_copy(backend: Backend, source: str, copy: Callable[[], T]) -> tuple[str, T]:
    """The version of a file that was copied, and removed, and what came of the copy. Blocks.

    What others write to it meanwhile is copied, too.
    """
    for _ in range(_LOOKS):
        before = backend.stat(source)
        made = copy()
        with suppress(Changed):
            backend.remove(source, condition=Condition(version=before.version))
            return before.version, made
    raise _too_fast(source)


def _too_fast(source: str) -> Changed:
    return changed(source, "others write to it again and again while it is copied; rename it when they have finished")


def _files(entries: Sequence[Entry]) -> Sequence[Entry]:
    """With links."""
    return [entry for entry in entries if entry.kind is not Kind.FOLDER]


def _moved(path: str, source: str, target: str) -> str:
    return target + path[len(source) :]
