"""Removing from a cache what nobody can use any more, and from stores what nobody will finish.

When in doubt a file stays: a place that does not answer says nothing about what lies there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

from pf_backends.entries import Upload
from pf_backends.paths import joined
from pf_backends.port import Backend
from pf_fuse.pages.cache import PageCache
from pf_fuse.pages.checking import key_of
from pf_fuse.pages.evicting import found, remove
from pf_fuse.pages.folder import Folder
from pf_fuse.pages.keys import Key

_TOGETHER = 1000
"""Files of which the places are asked before the next are looked at."""


class Why(StrEnum):
    """Nobody can use it."""

    FILESYSTEM = "filesystem"
    """No filesystem lies where it is from."""
    VERSION = "version"
    """Another version lies there, or nothing."""
    UNKNOWN = "unknown"
    """Nothing is known of it."""


class Kept(NamedTuple):
    """A cached file."""

    folder: Folder
    name: str
    bytes: int
    key: Key | None

    def remove(self) -> bool:
        """False if somebody uses it."""
        gone = remove(self.folder, self.name)
        self.folder.gave(gone)
        return bool(gone.files)


@dataclass(frozen=True, slots=True)
class Places:
    """Where the files of filesystems lie."""

    backends: Sequence[Backend]
    all: bool
    """There are no others that may be used."""


def kept(cache: PageCache) -> Iterator[Kept]:
    """All files of a cache."""
    for folder in cache.usable:
        for each in found(folder):
            yield Kept(folder, each.name, each.bytes, key_of(folder, each.name))


def judged(files: Iterable[Kept], places: Places, askers: Executor) -> Iterator[tuple[Kept, Why | None]]:
    """Each file, and why nobody can use it; None if somebody may."""
    files = iter(files)
    while some := list(islice(files, _TOGETHER)):
        yield from zip(some, askers.map(lambda each: _judged(each, places), some), strict=True)


def forgotten(backend: Backend, before: int) -> Sequence[Upload]:
    """Uploads in parts that were begun before a time, in nanoseconds since 1970."""
    return [upload for upload in backend.uploads("") if upload.begun < before]


def _judged(file: Kept, places: Places) -> Why | None:
    if file.key is None:
        return Why.UNKNOWN
    found = [(backend, path) for backend in places.backends if (path := _path_in(backend, file.key)) is not None]
    if not found:
        return Why.FILESYSTEM if places.all else None
    backend, path = found[0]
    with suppress(OSError):
        try:
            return None if backend.stat(path).version == file.key.version else Why.VERSION
        except (FileNotFoundError, NotADirectoryError):
            return Why.VERSION
    return None


def _path_in(backend: Backend, key: Key) -> str | None:
    """Where the file lies in a backend: a mount may be of a folder of a filesystem only."""
    if key.address == backend.address:
        return key.path
    top, here = _without_links(backend.address), _without_links(key.address)
    # What was linked into the whole is told by its address: with other links it is another place.
    return joined(here[len(top) + 1 :], key.path) if here.startswith(f"{top}/") else None


def _without_links(address: str) -> str:
    return address.partition("[")[0]
