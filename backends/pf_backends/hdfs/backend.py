"""The files of a Hadoop file system."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from pf_backends.entries import Capabilities, Condition, Entry, Facts, Page, Part, Renames, Space, Upload
from pf_backends.errors import unsupported
from pf_backends.hdfs import hadoop_pb2 as hadoop
from pf_backends.hdfs import uploads, writing
from pf_backends.hdfs.blocks import KEPT, BlockReader
from pf_backends.hdfs.files import Files, entries_of, entry_of
from pf_backends.hdfs.lines import Lines
from pf_backends.hdfs.names import NameNodes
from pf_backends.hdfs.reading import Reader
from pf_backends.hdfs.settings import HdfsSettings
from pf_backends.hdfs.writing import Writer
from pf_backends.hidden import OWN
from pf_backends.kept import require_untouched, require_version
from pf_backends.listings import Listings, descended
from pf_backends.paths import encoded, file_path, folder_path
from pf_backends.port import ANYTHING, NO_FACTS

_CAPABILITIES = Capabilities(renames=Renames.TREES, appends=True, parts=uploads.PARTS, modes=True, precision=1_000_000)
_CALLER = "paddleflow"


class HdfsBackend:
    """Fulfils `Backend` with a folder of a Hadoop file system.

    A version is the number of a file, which no other ever has, with its time and its size. A condition on a version is
    looked at before a write; that a place is empty, the name node sees to itself.
    """

    def __init__(self, settings: HdfsSettings) -> None:
        self._settings = settings
        self._names = NameNodes(settings)
        self._lines = Lines(settings.reach, KEPT)
        self._reader = Reader(BlockReader(self._lines, _CALLER))
        self._writer = Writer(settings, self._lines)
        self._listings = Listings()

    @property
    def capabilities(self) -> Capabilities:
        return _CAPABILITIES

    @property
    def address(self) -> str:
        return self._settings.address

    def check(self) -> None:
        self._files().listing("", b"")

    def close(self) -> None:
        self._listings.close()
        self._names.close()
        self._lines.close()

    def stat(self, path: str) -> Entry:
        return entry_of(path, self._files().found(folder_path(path)))

    def list(self, folder: str, *, rest: str = "", limit: int = 1000) -> Page:
        files, found = self._files(), list[Entry]()
        files.where(folder_path(folder))
        for listing in files.pages(folder, encoded(rest)):
            told = [entry for entry in entries_of(folder, listing.entries) if not entry.name.startswith(OWN)]
            found += told
            if len(found) > limit or (len(found) == limit and listing.left):
                return Page(found[:limit], found[limit - 1].name)
        return Page(found)

    def walk(self, folder: str, *, rest: str = "", limit: int = 1000) -> Page:
        folder_path(folder)
        return self._listings.page(folder, lambda: descended(self._inside, folder), rest, limit)

    def read(self, path: str, offset: int, into: memoryview, *, version: str = "") -> int:
        return self._reader.read(self._files(len(into)), file_path(path), offset, into, version)

    def fetch(self, path: str, *, limit: int) -> tuple[Entry, bytes]:
        return self._reader.fetch(self._files(limit), file_path(path), limit)

    def put(
        self, path: str, body: memoryview | bytes, *, facts: Facts = NO_FACTS, condition: Condition = ANYTHING
    ) -> Entry:
        plain = memoryview(body).cast("B")
        return self._writer.put(self._files(len(plain)), file_path(path), plain, facts, condition)

    def begin(self, path: str, *, facts: Facts = NO_FACTS) -> Upload:
        return uploads.begin(self._files(), file_path(path), facts, time.time_ns())

    def send(self, upload: Upload, number: int, body: memoryview | bytes) -> Part:
        plain = memoryview(body).cast("B")
        return uploads.send(self._files(len(plain)), self._writer, upload, number, plain)

    def finish(self, upload: Upload, parts: Sequence[Part], *, condition: Condition = ANYTHING) -> Entry:
        return uploads.finish(self._files(), upload, parts, condition)

    def drop(self, upload: Upload) -> None:
        uploads.drop(self._files(), upload)

    def uploads(self, folder: str) -> Sequence[Upload]:
        return uploads.left(self._files(), folder_path(folder))

    def append(self, path: str, body: memoryview | bytes, *, offset: int) -> Entry:
        plain = memoryview(body).cast("B")
        return self._writer.append(self._files(len(plain)), file_path(path), plain, offset)

    def make_folder(self, path: str, *, facts: Facts = NO_FACTS) -> Entry:
        return writing.make_folder(self._files(), file_path(path), facts)

    def make_link(self, path: str, target: str) -> Entry:
        raise unsupported(file_path(path), "Hadoop file systems have no links")

    def set_facts(self, path: str, facts: Facts, *, condition: Condition = ANYTHING) -> Entry:
        files = self._files()
        files.where(file_path(path))
        before = entry_of(path, files.found(path))
        require_version(before, condition)
        writing.keep(files, path, facts, shown=path)
        return require_untouched(before, entry_of(path, files.found(path)), facts, condition)

    def attributes(self, path: str) -> Facts:
        entry = self.stat(path)
        return Facts(entry.modified, entry.mode, None, {})

    def remove(self, path: str, *, condition: Condition = ANYTHING) -> None:
        writing.remove(self._files(), file_path(path), condition)

    def remove_many(self, paths: Sequence[str]) -> Sequence[OSError | None]:
        return writing.all_removed(self._files(), [file_path(path) for path in paths])

    def remove_folder(self, path: str) -> None:
        writing.remove_folder(self._files(), file_path(path))

    def rename(self, source: str, target: str, *, replace: bool = True) -> None:
        writing.rename(self._files(), file_path(source), file_path(target), replace=replace)

    def copy(self, source: str, target: str, *, condition: Condition = ANYTHING) -> Entry:
        raise unsupported(source, "Hadoop file systems copy nothing by themselves")

    def space(self) -> Space | None:
        told = self._files().ask("", "getFsStats", hadoop.GetSpace(), hadoop.GetSpace.Reply)
        return Space(told.capacity, told.free, 0, 0)

    def _files(self, size: int = 0) -> Files:
        """For one call that moves so many bytes."""
        seconds = self._settings.deadline + size / self._settings.slowest
        return Files(self._names, self._settings.path, time.monotonic() + seconds)

    def _inside(self, folder: str) -> Iterator[Entry]:
        rest = ""
        while True:
            page = self.list(folder, rest=rest)
            yield from page.entries
            rest = page.rest
            if not rest:
                return
