"""Renaming where a backend cannot: by copies, after which what was copied is removed.

Of a folder it is written down that it is renamed before anything is done, so that the next process goes on where one
ended. Copies are of what lies there at the time; what was copied before is not copied again.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from itertools import chain
from pathlib import Path

import msgspec

from pf_backends.entries import Entry, Kind, Renames
from pf_backends.errors import Unreachable, Unsupported, failure
from pf_backends.port import Backend
from pf_backends.renaming import renames_at, require_renamable
from pf_fuse.staging.notes import Notes

_MOST = 64 << 20
"""Bytes of a file that is copied through here where the backend cannot copy by itself."""


class Move(msgspec.Struct, frozen=True):
    """A folder is being renamed."""

    source: str
    target: str


class Renamer:
    """Renames files and folders of a backend. Blocks."""

    def __init__(self, backend: Backend, notes: Notes[Move], copiers: Executor) -> None:
        self._backend = backend
        self._notes = notes
        self._copiers = copiers

    def file(self, source: str, target: str) -> str:
        """The version of which the target is a copy; empty if it is no copy."""
        if renames_at(self._backend, source) is not Renames.NOTHING:
            self._backend.rename(source, target)
            return ""
        before = self._backend.stat(source)
        self._copy(source, target)
        copied = before.version if self._still(before) else ""
        self._backend.remove(source)
        return copied

    def folder(self, source: str, target: str, open_files: Collection[str] = ()) -> Mapping[str, str]:
        """Of files in it that are open: the versions of which their targets are copies, where they are copies."""
        if renames_at(self._backend, source) is Renames.TREES:
            self._backend.rename(source, target)
            return {}
        copied = dict.fromkeys(open_files, "")
        with self._notes.note(Move(source, target)):
            self._move(source, target, copied)
        return copied

    def require_movable(self, source: str, target: str, open_files: Collection[str]) -> None:
        """What is found to lie elsewhere, or to be too long, only amid it would leave some under each of the names."""
        require_renamable(self._backend, source, target)
        can = self._backend.capabilities
        longer = len(os.fsencode(target)) - len(os.fsencode(source))
        if renames_at(self._backend, source) is Renames.TREES or can.longest is None or longer <= 0:
            return
        there = (entry.path for entries in self._walk(source) for entry in entries)
        for path in chain(open_files, there):
            if len(os.fsencode(path)) + longer > can.longest:
                moved = _moved(path, source, target)
                raise failure(errno.ENAMETOOLONG, moved, f"files have paths of at most {can.longest} bytes here")

    def left(self) -> Sequence[tuple[Path, Move]]:
        """What processes before have begun, and the notes of it."""
        return list(self._notes.left())

    def go_on(
        self, note: Path, move: Move, open_files: Collection[str], stepped: Callable[[], None]
    ) -> Mapping[str, str]:
        """As `folder`, with what was begun before. Unreachable leaves it begun; what else fails is the end of it."""
        copied = dict.fromkeys(open_files, "")
        try:
            self._move(move.source, move.target, copied, stepped)
        except Unreachable:
            raise
        except OSError:
            note.unlink(missing_ok=True)
            raise
        note.unlink(missing_ok=True)
        return copied

    def _move(
        self, source: str, target: str, copied: dict[str, str], stepped: Callable[[], None] = lambda: None
    ) -> None:
        self._folder_at(target)
        for entries in self._pages(source):
            self._move_all(entries, source, target, copied, stepped)
        with suppress(FileNotFoundError):
            self._backend.remove_folder(source)

    def _move_all(
        self, entries: Sequence[Entry], source: str, target: str, copied: dict[str, str], stepped: Callable[[], None]
    ) -> None:
        def copy(entry: Entry) -> None:
            self._copy_once(entry, _moved(entry.path, source, target))
            stepped()

        for entry in entries:
            if entry.kind is Kind.FOLDER:
                self._folder_at(_moved(entry.path, source, target))
        files = [entry for entry in entries if entry.kind is not Kind.FOLDER]
        list(self._copiers.map(copy, files))
        copied |= {entry.path: entry.version for entry in files if entry.path in copied and self._still(entry)}
        for error in self._backend.remove_many([entry.path for entry in files]):
            if error:
                raise error
        stepped()

    def _pages(self, source: str) -> Iterator[Sequence[Entry]]:
        """What lies below a folder: files are removed once they are read, folders at the end, the deepest first."""
        folders: list[str] = []
        for entries in self._walk(source):
            folders += [entry.path for entry in entries if entry.kind is Kind.FOLDER]
            yield entries
        for folder in sorted(folders, key=len, reverse=True):
            with suppress(FileNotFoundError):
                self._backend.remove_folder(folder)

    def _walk(self, source: str) -> Iterator[Sequence[Entry]]:
        rest = ""
        while True:
            page = self._backend.walk(source, rest=rest)
            yield page.entries
            rest = page.rest
            if not rest:
                return

    def _folder_at(self, path: str) -> None:
        with suppress(FileExistsError):
            self._backend.make_folder(path)

    def _copy_once(self, entry: Entry, target: str) -> None:
        with suppress(FileNotFoundError):
            there = self._backend.stat(target)
            if there.modified > entry.modified or (there.size, there.modified) == (entry.size, entry.modified):
                return
        self._copy(entry.path, target)

    def _still(self, entry: Entry) -> bool:
        """True if nobody has replaced it since it was looked at: what was copied meanwhile is this version."""
        return self._backend.stat(entry.path).version == entry.version

    def _copy(self, source: str, target: str) -> None:
        with suppress(Unsupported):
            self._backend.copy(source, target)
            return
        entry, data = self._backend.fetch(source, limit=_MOST)
        if len(data) != entry.size:
            raise failure(errno.EIO, source, "it was cut off while it was copied")
        self._backend.put(target, data, facts=self._backend.attributes(source))


def _moved(path: str, source: str, target: str) -> str:
    return target + path[len(source) :]
