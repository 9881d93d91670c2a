"""Files of a filesystem in a program, without a mount, by way of the cache that mounts of the machine use too.

`open_files` is found by the client as an entry point: it knows nothing of what is installed beside it.
"""

from __future__ import annotations

import errno
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import Any

from pf_backends.entries import Condition, Entry, Kind, Renames
from pf_backends.errors import Changed, Unsupported, failure, unsupported
from pf_backends.paths import parent
from pf_backends.port import ANYTHING, Backend
from pf_backends.renaming import renames_at
from pf_fuse.direct.known import Known
from pf_fuse.direct.reading import Content
from pf_fuse.direct.writing import NewFile
from pf_fuse.fetching.fetcher import Fetcher
from pf_fuse.fetching.settings import FetchSettings
from pf_fuse.opening import opened, page_cache
from pf_fuse.pages.cache import PageCache
from pf_fuse.settings import RenewalSettings, SourceSettings, read
from pf_fuse.staging.renaming import moved_by_copy

_AT_ONCE = 16
"""Questions to the backend, and parts of files that are sent."""
_PIECE = 16 << 20


class DirectFiles:
    """The files of one filesystem. May be used by any number of threads, of one process."""

    def __init__(self, backend: Backend, cache: PageCache, settings: FetchSettings, known: Known) -> None:
        self.known = known
        self._backend = backend
        self._cache = cache
        self._fetcher = Fetcher(backend, cache, settings, known)
        self._workers = ThreadPoolExecutor(_AT_ONCE, "pf-files")

    def stat(self, path: str) -> Entry:
        """What lies at a path, as was told a moment ago or as the backend tells now."""
        if found := self.known.entry(path):
            return found
        asked = time.monotonic()
        entry = self._backend.stat(path)
        self.known.told(entry, asked)
        return entry

    def stat_all(self, paths: Sequence[str]) -> Sequence[Entry | OSError]:
        """As `stat`, several at once; what went wrong in its place."""
        return list(self._workers.map(self._stat_or_why, paths))

    def list(self, folder: str) -> Sequence[Entry]:
        """What is in a folder, by names."""
        found = self.known.listing(folder)
        if found is None:
            asked = time.monotonic()
            entries = list(self._listed(folder))
            if not entries and self._backend.stat(folder).kind is not Kind.FOLDER:
                raise failure(errno.ENOTDIR, folder, "is no folder")
            self.known.listed(folder, entries, asked)
            found = self.known.listing(folder) or sorted(entries, key=lambda entry: entry.name)
        return found

    def walk(self, folder: str) -> Iterator[Entry]:
        """All below a folder; of folders those that are things of their own."""
        rest = ""
        while True:
            asked = time.monotonic()
            page = self._backend.walk(folder, rest=rest)
            for entry in page.entries:
                self.known.told(entry, asked)
                yield entry
            rest = page.rest
            if not rest:
                return

    def open(self, entry: Entry) -> Content:
        """Of this version, whatever lies there by then."""
        return Content(entry, self._fetcher.open(entry))

    def write(self, path: str) -> NewFile:
        """A new file, which is there once it is committed; the folders above it are there at once."""
        self._require_folder(parent(path))
        return NewFile(self._backend, path, self._workers)

    def put(self, path: str, body: bytes, *, only_new: bool = False) -> Entry:
        """Writes a file at once."""
        new = self.write(path)
        new.write(body)
        return self.commit(new, path, only_new=only_new)

    def commit(self, new: NewFile, path: str, *, only_new: bool = False) -> Entry:
        """FileExistsError if it was to be new and something is there."""
        try:
            return new.commit(Condition(absent=True) if only_new else ANYTHING)
        except Changed as error:
            raise failure(errno.EEXIST, path, "there is something already") from error
        finally:
            self.known.changed(path)

    def append(self, path: str, body: bytes, offset: int) -> Entry:
        self.known.changed(path)
        return self._backend.append(path, body, offset=offset)

    def make_folder(self, path: str) -> None:
        self.known.changed(path)
        self._backend.make_folder(path)

    def make_folders(self, path: str) -> None:
        """With those above; no error where they are."""
        if not path:
            return
        try:
            self.make_folder(path)
        except FileExistsError:
            if self._backend.stat(path).kind is not Kind.FOLDER:
                raise
        except FileNotFoundError:
            self.make_folders(parent(path))
            self.make_folders(path)

    def remove(self, paths: Sequence[str]) -> None:
        """Files and links, all that can be; then it fails with the first that could not be."""
        answers = self._backend.remove_many(paths)
        for path in paths:
            self.known.changed(path)
        for answer in answers:
            if answer:
                raise answer

    def remove_folder(self, path: str) -> None:
        self.known.changed(path)
        self._backend.remove_folder(path)

    def remove_all(self, folder: str) -> None:
        """A folder and all below it."""
        below = list(self.walk(folder))
        things = [entry.path for entry in below if entry.kind is not Kind.FOLDER]
        for start in range(0, len(things), 1000):
            self.remove(things[start : start + 1000])
        folders = [entry.path for entry in below if entry.kind is Kind.FOLDER]
        for each in [*sorted(folders, key=len, reverse=True), *filter(None, [folder])]:
            with suppress(FileNotFoundError):
                self.remove_folder(each)

    def move(self, source: str, target: str) -> None:
        """A file, or a folder where the backend can do that. Unsupported otherwise."""
        renames = self._renames(source)
        if source == target:
            return
        if renames:
            self._backend.rename(source, target)
        else:
            moved_by_copy(self._backend, source, lambda: self.copy(source, target))
        self.known.forget()

    def copy(self, source: str, target: str) -> None:
        """A file."""
        with suppress(Unsupported):
            self._backend.copy(source, target)
            self.known.changed(target)
            return
        with closing(self.open(self._backend.stat(source))) as content:
            new = self.write(target)
            try:
                for start in range(0, content.entry.size, _PIECE):
                    new.write(memoryview(content.read(start, _PIECE)))
            except BaseException:
                new.discard()
                raise
        self.commit(new, target)

    def end(self) -> None:
        """Nothing is fetched any more."""
        self._workers.shutdown(wait=False, cancel_futures=True)
        self._fetcher.end()
        self._cache.end()
        self._backend.close()

    def _require_folder(self, folder: str) -> None:
        if not folder or not self._backend.capabilities.folders:
            return
        try:
            self.stat(folder)
        except FileNotFoundError:
            self.make_folders(folder)

    def _renames(self, path: str) -> bool:
        renames = renames_at(self._backend, path)
        if self._backend.stat(path).kind is not Kind.FOLDER:
            return renames is not Renames.NOTHING
        if renames is not Renames.TREES:
            raise unsupported(path, "the place renames no folders")
        return True

    def _stat_or_why(self, path: str) -> Entry | OSError:
        try:
            return self.stat(path)
        except OSError as error:
            return error

    def _listed(self, folder: str) -> Iterator[Entry]:
        rest = ""
        while True:
            page = self._backend.list(folder, rest=rest)
            yield from page.entries
            rest = page.rest
            if not rest:
                return


def open_files(
    source: Mapping[str, Any],
    *,
    memory: int,
    lasts: float,
    known: Known | None = None,
    renewal: Mapping[str, Any] | None = None,
) -> DirectFiles:
    """By the settings of a source. `known` is that of the process before, in one that was forked.

    `renewal` says where keys come from when those of the source have expired.
    """
    settings = read(json.dumps(source).encode(), SourceSettings)
    renewing = read(json.dumps(renewal).encode(), RenewalSettings) if renewal else None
    backend = opened(settings.url, settings.properties, settings.links, read_only=settings.read_only, renewal=renewing)
    known = known or Known(lasts, time.monotonic)
    return DirectFiles(backend, page_cache(settings.cache), FetchSettings(memory=memory), known)
