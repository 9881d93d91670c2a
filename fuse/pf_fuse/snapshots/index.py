"""A snapshot as a mount needs it: a file that is mapped into memory, in which a path is found without reading it all.

It has the things of each folder one after another in the order of their names, where each of them begins, and a table
of the folders in the order of their paths. What of it is in memory, the kernel decides.
"""

from __future__ import annotations

import errno
import mmap
import struct
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from io import BufferedWriter
from itertools import groupby, pairwise
from pathlib import Path

from pf_backends.entries import ROOT, Entry, Kind, Page
from pf_backends.errors import failure
from pf_backends.paths import encoded, parent

_MAGIC = b"pfsnap01"
_THING = struct.Struct("<QqBHIIHHH")
"""Size, time, kind, mode, owner, bytes of the name, of the version and of where a link leads; these follow."""
_FOLDER = struct.Struct("<QQQI")
"""Its first thing, how many there are, and where its path lies."""
_END = struct.Struct("<QQQQ8s")
"""How many things and folders there are, where it is written where they begin, and the mark."""
_PLACE = struct.Struct("<Q")
_KINDS = (Kind.FILE, Kind.FOLDER, Kind.LINK)
_NO_MODE, _NO_OWNER = (1 << 16) - 1, (1 << 32) - 1


def build(things: Iterable[Entry], target: Path) -> int:
    """Writes the file of what comes as a snapshot has it, and says how many there are. ValueError if it is none."""
    draft = target.with_name(f"{target.name}.draft")
    with draft.open("wb") as file:
        count = _write(things, file)
    draft.replace(target)
    return count


class Index:
    """What was where when the snapshot was taken. For many threads."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        end: tuple[int, int, int, int, bytes] = _END.unpack_from(self._data, len(self._data) - _END.size)
        self._things, self._folders, self._starts, self._table, mark = end
        if mark != _MAGIC:
            raise ValueError(f"{path} is no index of a snapshot")

    def __len__(self) -> int:
        return self._things

    def find(self, path: str) -> Entry | None:
        """What lay at a path."""
        if path == ROOT:
            return self._thing(0, ROOT)
        folder, _, name = path.rpartition("/")
        first, count = self._within(folder)
        wanted = _plain(name)
        at = bisect_left(range(first, first + count), wanted, key=self._name) + first
        return self._thing(at, folder) if at < first + count and self._name(at) == wanted else None

    def page(self, folder: str, rest: str, limit: int) -> Page:
        """Some of what was in a folder."""
        first, count = self._within(folder)
        if not count:
            self._require_folder(folder)
        start = int(rest or 0)
        stop = min(start + limit, count)
        entries = []
        place = self._place(first + start) if start < stop else 0
        for _ in range(start, stop):
            entry, place = self._read(place, folder)
            entries.append(entry)
        return Page(entries, str(stop) if stop < count else "")

    def _require_folder(self, path: str) -> None:
        thing = self.find(path)
        if thing is None:
            raise failure(errno.ENOENT, path, "there was nothing when the snapshot was taken")
        if thing.kind is not Kind.FOLDER:
            raise failure(errno.ENOTDIR, path, "is no folder")

    def _within(self, folder: str) -> tuple[int, int]:
        """The first of the things in a folder, and how many there are."""
        wanted = _plain(folder)
        at = bisect_left(range(self._folders), wanted, key=self._folder)
        if at == self._folders or self._folder(at) != wanted:
            return 0, 0
        first, count, _, _ = _FOLDER.unpack_from(self._data, self._table + at * _FOLDER.size)
        return first, count

    def _folder(self, at: int) -> bytes:
        _, _, place, size = _FOLDER.unpack_from(self._data, self._table + at * _FOLDER.size)
        return self._data[place : place + size]

    def _place(self, at: int) -> int:
        place: int = _PLACE.unpack_from(self._data, self._starts + at * _PLACE.size)[0]
        return place

    def _name(self, at: int) -> bytes:
        place = self._place(at)
        size = _THING.unpack_from(self._data, place)[6]
        start = place + _THING.size
        return self._data[start : start + size]

    def _thing(self, at: int, folder: str) -> Entry:
        return self._read(self._place(at), folder)[0]

    def _read(self, place: int, folder: str) -> tuple[Entry, int]:
        """A thing, and where the one after it begins."""
        size, modified, kind, mode, uid, gid, *lengths = _THING.unpack_from(self._data, place)
        name_end = place + _THING.size + lengths[0]
        version_end = name_end + lengths[1]
        end = version_end + lengths[2]
        name = self._data[name_end - lengths[0] : name_end].decode()
        entry = Entry(
            f"{folder}/{name}" if folder else name,
            _KINDS[kind],
            size,
            modified,
            self._data[name_end:version_end].decode(),
            None if mode == _NO_MODE else mode,
            None if uid == _NO_OWNER else (uid, gid),
            self._data[version_end:end].decode() if version_end < end else "",
        )
        return entry, end


def _plain(text: str) -> bytes:
    """Names that are no text are in no snapshot; they are looked for all the same."""
    return text.encode("utf-8", "surrogatepass")


def _write(things: Iterable[Entry], file: BufferedWriter) -> int:
    starts = array("Q")
    folders: list[tuple[bytes, int, int]] = []
    for folder, group in groupby(things, _folder_of):
        first = len(starts)
        last = b""
        for thing in group:
            name = encoded(thing.name)
            if name <= last and len(starts) > first:
                raise ValueError(f"the snapshot is not in order at {thing.path!r}")
            starts.append(file.tell())
            file.write(_packed(thing, name))
            last = name
        if folder is not None:
            folders.append((encoded(folder), first, len(starts) - first))
    folders.sort()
    if not len(starts) or any(one[0] == other[0] for one, other in pairwise(folders)):
        raise ValueError("the snapshot is not in order: things of one folder do not follow one another")
    places = file.tell()
    file.write(starts.tobytes())
    _write_folders(folders, file, (len(starts), places))
    return len(starts)


def _folder_of(thing: Entry) -> str | None:
    """None for the top, which is in no folder."""
    return None if thing.path == ROOT else parent(thing.path)


def _write_folders(folders: list[tuple[bytes, int, int]], file: BufferedWriter, before: tuple[int, int]) -> None:
    places = []
    for path, _, _ in folders:
        places.append(file.tell())
        file.write(path)
    table = file.tell()
    for place, (path, first, count) in zip(places, folders, strict=True):
        file.write(_FOLDER.pack(first, count, place, len(path)))
    file.write(_END.pack(before[0], len(folders), before[1], table, _MAGIC))


def _packed(thing: Entry, name: bytes) -> bytes:
    version, target = thing.version.encode(), encoded(thing.target)
    uid, gid = thing.owner or (_NO_OWNER, _NO_OWNER)
    mode = _NO_MODE if thing.mode is None else thing.mode
    head = _THING.pack(
        thing.size, thing.modified, _KINDS.index(thing.kind), mode, uid, gid, len(name), len(version), len(target)
    )
    return head + name + version + target
