"""`pf://FSNAME/PATH`: files of filesystems for whatever reads and writes through fsspec.

What is read comes by way of the cache that mounts of this machine use, so a second reading, of this program or another
one, is of the local disk. `pf://OWNER@FSNAME/PATH` is a filesystem of somebody else.
"""

from __future__ import annotations

import errno
import weakref
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from typing import Any, ClassVar

from fsspec.spec import AbstractFileSystem

from paddleflow.direct.opened import MIB, Access, Filesystems
from paddleflow.direct.ports import Content, Entry, Files
from paddleflow.direct.reader import Bytes, Reader
from paddleflow.direct.writer import Appender, Writer

_TYPES = {"file": "file", "folder": "directory", "link": "link"}
_TOGETHER = 256
"""Ranges that are asked for at once."""
Info = dict[str, Any]


class PaddleFlowFileSystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Files of all filesystems that a user may use.

    Options: `config`, the path of a configuration, else that of the command line; `read_only`; `dataset`, if nobody
    changes what lies there as long as the program runs; `lasts`, seconds for which names are taken for true, else 1;
    `cache_dir`, a folder or several, and `cache_size`, such as 100Gi, as of `paddleflow fs mount`; `memory`, bytes that
    are fetched ahead for a filesystem in a process.
    """

    protocol: ClassVar[str] = "pf"
    root_marker: ClassVar[str] = ""

    def __init__(  # options of users
        self,
        config: str = "",
        read_only: bool = False,
        dataset: bool = False,
        lasts: float = 1.0,
        cache_dir: str | Sequence[str] = (),
        cache_size: str = "",
        memory: int = 64 * MIB,
        **others: Any,
    ) -> None:
        super().__init__(**others)
        folders = (cache_dir,) if isinstance(cache_dir, str) else tuple(cache_dir)
        self._all = Filesystems(Access(config, read_only, dataset, lasts, folders, cache_size, memory))
        # Programs seldom close filesystems.
        weakref.finalize(self, self._all.close)

    def ls(self, path: str, detail: bool = True, refresh: bool = False, **_: Any) -> list[Any]:
        """What is in a folder, or the file itself; of the top, the filesystems."""
        name, inner = self._split(path)
        if refresh:
            self.invalidate_cache()
        if not name:
            found = [_folder_info(each) for each in self._all.names()]
        else:
            found = [_info(name, entry) for entry in self._listed(name, inner)]
        return found if detail else [each["name"] for each in found]

    def info(self, path: str, **_: Any) -> Info:
        name, inner = self._split(path)
        return _info(name, self._all.files(name).stat(inner)) if name else _folder_info("")

    def find(
        self,
        path: str,
        maxdepth: int | None = None,
        withdirs: bool = False,
        detail: bool = False,
        **others: Any,
    ) -> Any:
        """All files below a folder, with as few questions as can be."""
        name, inner = self._split(path)
        if maxdepth is not None or not name:
            return super().find(path, maxdepth=maxdepth, withdirs=withdirs, detail=detail, **others)
        within = f"{name}/{inner}".rstrip("/") + "/" + others.get("prefix", "")
        whole = {info["name"]: info for info in self._below(name, inner)}
        found = {
            each: whole[each]
            for each in sorted(whole)
            if (withdirs or whole[each]["type"] != "directory") and (f"{each}/" == within or each.startswith(within))
        }
        return found if detail else list(found)

    def _open(
        self,
        path: str,
        mode: str = "rb",
        autocommit: bool = True,
        **_: Any,
    ) -> Any:
        name, inner = self._split(path)
        files = self._all.files(name)
        match mode:
            case "rb":
                entry = files.stat(inner)
                _require_file(entry)
                return Reader(self, path, Bytes(files, entry, lambda: self._all.files(name)), _info(name, entry))
            case "wb" | "xb":
                return Writer(files, path, inner, only_new=mode == "xb", autocommit=autocommit)
            case "ab":
                return self._append(files, path, inner, autocommit=autocommit)
        raise ValueError(f"files are opened as rb, wb, xb or ab, not as {mode}")

    @staticmethod
    def _append(files: Files, path: str, inner: str, *, autocommit: bool) -> Writer | Appender:
        try:
            return Appender(files, inner, files.stat(inner).size)
        except FileNotFoundError:
            return Writer(files, path, inner, only_new=True, autocommit=autocommit)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        name, inner = self._split(path)
        files = self._all.files(name)
        content = files.open(_require_file(files.stat(inner)))
        try:
            offset, size = _range(content.entry.size, start, end)
            return bytes(content.read(offset, size))
        finally:
            content.close()

    def cat_ranges(
        self,
        paths: Sequence[str],
        starts: Any,
        ends: Any,
        max_gap: int | None = None,  # noqa: ARG002  # the cache has whole pages
        on_error: str = "return",
        **_: Any,
    ) -> list[Any]:
        """Ranges of files, many at once."""
        count = len(paths)
        asked = list(zip(paths, _each(starts, count), _each(ends, count), strict=True))
        found: list[Any] = []
        for first in range(0, count, _TOGETHER):
            found += self._ranges(asked[first : first + _TOGETHER])
        if on_error == "raise":
            for each in found:
                if isinstance(each, OSError):
                    raise each
        return found

    def cat(self, path: Any, recursive: bool = False, on_error: str = "raise", **others: Any) -> Any:
        paths = self.expand_path(path, recursive=recursive)
        if isinstance(path, str) and paths == [self._strip_protocol(path)]:
            return self.cat_file(paths[0], **others)
        files = [each for each in paths if not recursive or not self.isdir(each)]
        bodies = self.cat_ranges(files, None, None, on_error="raise" if on_error == "raise" else "return")
        found = zip(files, bodies, strict=True)
        return {name: body for name, body in found if on_error != "omit" or not isinstance(body, OSError)}

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
        name, inner = self._split(path)
        self._all.files(name).put(inner, value, only_new=mode == "create")

    def touch(self, path: str, truncate: bool = True, **_: Any) -> None:
        if not truncate and self.exists(path):
            raise NotImplementedError("the time of a file is that of its last change")
        self.pipe_file(path, b"")

    def mkdir(self, path: str, create_parents: bool = True, **_: Any) -> None:
        name, inner = self._split(path)
        if create_parents and self.exists(path):
            raise FileExistsError(errno.EEXIST, "there is something already", path)
        files = self._all.files(name)
        (files.make_folders if create_parents else files.make_folder)(inner)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        name, inner = self._split(path)
        if not exist_ok and self.exists(path):
            raise FileExistsError(errno.EEXIST, "there is something already", path)
        self._all.files(name).make_folders(inner)

    def rmdir(self, path: str) -> None:
        name, inner = self._split(path)
        self._all.files(name).remove_folder(inner)

    def rm_file(self, path: str) -> None:
        name, inner = self._split(path)
        self._all.files(name).stat(inner)
        self._all.files(name).remove([inner])

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        if maxdepth is not None:
            super().rm(path, recursive=recursive, maxdepth=maxdepth)
            return
        for each in self.expand_path(path):
            name, inner = self._split(each)
            files = self._all.files(name)
            if files.stat(inner).kind != "folder":
                files.remove([inner])
            elif recursive:
                files.remove_all(inner)
            else:
                raise IsADirectoryError(errno.EISDIR, "is a folder; remove it with recursive=True", each)

    def cp_file(self, path1: str, path2: str, **_: Any) -> None:
        (name, inner), (other, target) = self._split(path1), self._split(path2)
        if self.isdir(path1):
            self.makedirs(path2, exist_ok=True)
        elif name == other:
            self._all.files(name).copy(inner, target)
        else:
            self._copy_over(path1, path2)

    def mv(self, path1: Any, path2: Any, recursive: bool = False, maxdepth: int | None = None, **others: Any) -> None:
        """At once where the place can, else by a copy."""
        if isinstance(path1, str) and isinstance(path2, str) and self._moved(path1, path2):
            return
        super().mv(path1, path2, recursive=recursive, maxdepth=maxdepth, **others)

    def modified(self, path: str) -> datetime:
        return datetime.fromtimestamp(self.info(path)["mtime"], UTC)

    def invalidate_cache(self, path: str | None = None) -> None:
        self._all.forget()
        super().invalidate_cache(path)

    def close(self) -> None:
        """Lets go of connections and memory; used again, it opens them anew."""
        self._all.close()

    @classmethod
    def _split(cls, path: str) -> tuple[str, str]:
        """The name of the filesystem, and the path in it."""
        name, _, inner = str(cls._strip_protocol(path)).strip("/").partition("/")
        return name, inner

    def _listed(self, name: str, inner: str) -> Sequence[Entry]:
        files = self._all.files(name)
        try:
            return files.list(inner)
        except NotADirectoryError:
            return [files.stat(inner)]

    def _below(self, name: str, inner: str) -> Iterator[Info]:
        files = self._all.files(name)
        try:
            top = files.stat(inner)
        except FileNotFoundError:
            return
        yield _info(name, top)
        for entry in files.walk(inner) if top.kind == "folder" else ():
            # Folders of places that have none are told of by what lies in them.
            above = entry.path.rpartition("/")[0]
            while len(above) > len(inner):
                yield _folder_info(f"{name}/{above}")
                above = above.rpartition("/")[0]
            yield _info(name, entry)

    def _ranges(self, asked: Sequence[tuple[str, int | None, int | None]]) -> list[Any]:
        contents = self._contents(list({path: None for path, _, _ in asked}))
        try:
            begun = [_begun(contents[path], start, end) for path, start, end in asked]
            return [_ended(each) for each in begun]
        finally:
            for content in contents.values():
                if not isinstance(content, OSError):
                    content.close()

    def _contents(self, paths: Sequence[str]) -> Mapping[str, Content | OSError]:
        """Files that are open, or why they are not."""
        found: dict[str, Content | OSError] = {}
        for name in {self._split(path)[0] for path in paths}:
            files = self._all.files(name)
            mine = [path for path in paths if self._split(path)[0] == name]
            entries = files.stat_all([self._split(path)[1] for path in mine])
            found |= {path: _content(files, entry) for path, entry in zip(mine, entries, strict=True)}
        return found

    def _moved(self, path1: str, path2: str) -> bool:
        (name, inner), (other, target) = self._split(path1), self._split(path2)
        if name != other or not inner or "*" in path1:
            return False
        if path2.endswith("/") or self.isdir(path2):
            target = f"{target}/{inner.rpartition('/')[2]}".strip("/")
        try:
            self._all.files(name).move(inner, target)
        except OSError as error:
            if error.errno == errno.ENOTSUP:
                return False
            raise
        return True

    def _copy_over(self, path1: str, path2: str) -> None:
        with self.open(path1, "rb") as source, self.open(path2, "wb") as target:
            while piece := source.read(16 * MIB):
                target.write(piece)


def _content(files: Files, entry: Entry | OSError) -> Content | OSError:
    if isinstance(entry, OSError):
        return entry
    try:
        return files.open(_require_file(entry))
    except OSError as error:
        return error


def _begun(content: Content | OSError, start: int | None, end: int | None) -> Any:
    """Bytes, a future of them, or why there are none."""
    if isinstance(content, OSError):
        return content
    try:
        return content.begin(*_range(content.entry.size, start, end))
    except OSError as error:
        return error


def _ended(answer: Any) -> bytes | OSError:
    try:
        found = answer.result() if isinstance(answer, Future) else answer
    except OSError as error:
        return error
    return found if isinstance(found, OSError) else bytes(found)


def _range(size: int, start: int | None, end: int | None) -> tuple[int, int]:
    """Offset and count of what a slice means."""
    first, last, _ = slice(start, end).indices(size)
    return first, max(0, last - first)


def _each(value: Any, count: int) -> Sequence[int | None]:
    return value if isinstance(value, Sequence) else [value] * count


def _require_file(entry: Entry) -> Entry:
    if entry.kind == "folder":
        raise IsADirectoryError(errno.EISDIR, "is a folder", entry.path)
    return entry


def _info(name: str, entry: Entry) -> Info:
    info = {
        "name": f"{name}/{entry.path}" if entry.path else name,
        "size": entry.size,
        "type": _TYPES[str(entry.kind)],
        "mtime": entry.modified / 1e9,
        "version": entry.version,
    }
    return {**info, "destination": entry.target} if entry.target else info


def _folder_info(name: str) -> Info:
    return {"name": name, "size": 0, "type": "directory", "mtime": 0.0, "version": ""}
