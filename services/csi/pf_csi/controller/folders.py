"""Volumes as folders of a store. All of it blocks."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pf_backends.entries import Kind, Space
from pf_backends.errors import Malformed
from pf_backends.opening import Surroundings, open_backend
from pf_backends.port import Backend
from pf_backends.walking import pages_below
from pf_csi.places import Place
from pf_csi.records import FOLDER, LARGEST, Record, decode, encode, is_folder, path_of
from pf_csi.refusals import Refusal, Why

_PAGE = 1000
_PATIENCE = 20.0


class StoreFolders:
    """What lies in one store."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def check(self) -> None:
        """OSError if nobody answers."""
        self._backend.check()

    def record(self, folder: str) -> Record | None:
        """None if there is no such volume."""
        try:
            _, data = self._backend.fetch(path_of(folder), limit=LARGEST)
        except FileNotFoundError:
            return None
        return decode(data)

    def write(self, folder: str, record: Record) -> None:
        with suppress(FileExistsError):
            self._backend.make_folder(FOLDER)
        self._backend.put(path_of(folder), encode(record))

    def make(self, folder: str) -> None:
        """Nothing if it is there."""
        with suppress(FileExistsError):
            self._backend.make_folder(folder)

    def remove(self, folder: str) -> None:
        """The volume with all that lies in it, and then what is known of it. May be cut off, and done again."""
        if not is_folder(folder):
            raise ValueError("this is no volume of the controller")
        with suppress(FileNotFoundError):
            self._empty(folder)
        with suppress(FileNotFoundError):
            self._backend.remove_folder(folder)
        with suppress(FileNotFoundError):
            self._backend.remove(path_of(folder))

    def volumes(self) -> Iterator[str]:
        """Folders of all volumes, in order."""
        rest = ""
        names: list[str] = []
        while True:
            try:
                page = self._backend.list(FOLDER, rest=rest, limit=_PAGE)
            except FileNotFoundError:
                break
            names += [entry.name.removesuffix(".json") for entry in page.entries]
            rest = page.rest
            if not rest:
                break
        return (name for name in sorted(names) if is_folder(name))

    def space(self) -> Space | None:
        return self._backend.space()

    def _empty(self, folder: str) -> None:
        """Files first; folders are removed from the inside out."""
        folders: list[str] = []
        for entries in pages_below(self._backend, folder, limit=_PAGE):
            folders += [entry.path for entry in entries if entry.kind is Kind.FOLDER]
            failures = self._backend.remove_many([each.path for each in entries if each.kind is not Kind.FOLDER])
            for failure in failures:
                if failure is not None and failure.errno != errno.ENOENT:
                    raise failure
        for path in sorted(folders, key=lambda each: -each.count("/")):
            with suppress(FileNotFoundError):
                self._backend.remove_folder(path)


@contextmanager
def opened(place: Place) -> Iterator[StoreFolders]:
    """Refusal if the store is set up in a way that cannot be."""
    try:
        backend = open_backend(place.url, place.all, Surroundings(deadline=_PATIENCE))
    except Malformed as error:
        raise Refusal(Why.UNREADY, f"the store is malformed: {error}") from None
    try:
        yield StoreFolders(backend)
    finally:
        backend.close()
