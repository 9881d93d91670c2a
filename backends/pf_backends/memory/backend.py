"""A backend in memory, for tests: it can do everything, or only what it is told to."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace as changed_in
from itertools import count, islice

from pf_backends.entries import (
    ROOT,
    Capabilities,
    Condition,
    Entry,
    Facts,
    Kind,
    Page,
    Part,
    Parts,
    Renames,
    Space,
    Upload,
)
from pf_backends.errors import changed, failure, unsupported
from pf_backends.memory.things import Thing, Things
from pf_backends.memory.uploads import Uploads
from pf_backends.paths import encoded, file_path, folder_path, is_path, parent
from pf_backends.port import ANYTHING, NO_FACTS

EVERYTHING = Capabilities(
    conditional=True,
    renames=Renames.TREES,
    copies=True,
    appends=True,
    parts=Parts(least=1, most=1 << 30, count=10_000),
    ordered=True,
    deep=True,
    links=True,
    modes=True,
    owners=True,
    attributes=True,
    precision=1,
    longest=4095,
)
LIKE_OBJECTS = changed_in(
    EVERYTHING, renames=Renames.NOTHING, appends=False, folders=False, links=False, modes=False, owners=False
)
"""What an object store can do."""
_AFTER_SLASH = "0"
"""The character that follows the slash."""

Before = Callable[[str, str], None]
"""Is called with the name of each operation and its path before it begins: it may wait, fail, or change something."""


def _nothing(_operation: str, _path: str) -> None:
    """Lets each operation begin at once."""


class MemoryBackend:
    """Fulfils `Backend` with nothing but memory."""

    def __init__(
        self,
        *,
        capabilities: Capabilities = EVERYTHING,
        before: Before = _nothing,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.before = before
        self._capabilities = capabilities
        self._clock = clock
        self._guard = threading.RLock()
        self._things = Things()
        self._uploads = Uploads(capabilities.parts or Parts(0, 0, 0))
        self._versions = count(1)

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    @property
    def address(self) -> str:
        return f"memory://{id(self):x}"

    def check(self) -> None:
        self.before("check", ROOT)

    def close(self) -> None:
        self.before("close", ROOT)

    def stat(self, path: str) -> Entry:
        with self._doing("stat", folder_path(path)):
            return self._entry(path)

    def list(self, folder: str, *, rest: str = "", limit: int = 1000) -> Page:
        with self._doing("list", folder_path(folder)):
            self._require_folder(folder)
            found = list(islice(self._inside(folder, rest), limit + 1))
            entries = [entry for _, entry in found[:limit]]
            return Page(entries, found[limit - 1][0] if len(found) > limit else "")

    def walk(self, folder: str, *, rest: str = "", limit: int = 1000) -> Page:
        with self._doing("walk", folder_path(folder)):
            self._require_folder(folder)
            paths = list(islice(self._things.below(folder, rest), limit + 1))
            return Page([*map(self._entry, paths[:limit])], paths[limit] if len(paths) > limit else "")

    def read(self, path: str, offset: int, into: memoryview, *, version: str = "") -> int:
        with self._doing("read", file_path(path)):
            thing = self._file(path)
            if version and thing.version != version:
                raise changed(path, "there is another version by now")
            body = thing.body[offset : offset + len(into)]
            into[: len(body)] = body
            return len(body)

    def fetch(self, path: str, *, limit: int) -> tuple[Entry, bytes]:
        with self._doing("fetch", file_path(path)):
            thing = self._file(path)
            if len(thing.body) > limit:
                raise failure(errno.EFBIG, path, f"has {len(thing.body)} bytes, more than {limit}")
            return self._entry(path), thing.body

    def put(
        self, path: str, body: memoryview | bytes, *, facts: Facts = NO_FACTS, condition: Condition = ANYTHING
    ) -> Entry:
        with self._doing("put", file_path(path)):
            most = self._capabilities.most_put
            if most is not None and memoryview(body).nbytes > most:
                raise failure(errno.EFBIG, path, f"is larger than {most} bytes, which is all that is written at once")
            return self._placed(path, bytes(body), facts, condition)

    def begin(self, path: str, *, facts: Facts = NO_FACTS) -> Upload:
        with self._doing("begin", file_path(path)):
            self._require(self._capabilities.parts is not None, path, "uploads nothing in parts")
            self._require_place(path)
            return self._uploads.begin(path, facts, self._clock())

    def send(self, upload: Upload, number: int, body: memoryview | bytes) -> Part:
        with self._doing("send", upload.path):
            return self._uploads.send(upload, number, bytes(body))

    def finish(self, upload: Upload, parts: Sequence[Part], *, condition: Condition = ANYTHING) -> Entry:
        with self._doing("finish", upload.path):
            before = self._uploads.version_of(upload)
            if before:
                return self._finished_before(upload, before)
            body, facts = self._uploads.whole(upload, parts)
            entry = self._placed(upload.path, body, facts, condition)
            self._uploads.done(upload, entry.version)
            return entry

    def drop(self, upload: Upload) -> None:
        with self._doing("drop", upload.path):
            self._uploads.drop(upload)

    def uploads(self, folder: str) -> Sequence[Upload]:
        with self._doing("uploads", folder_path(folder)):
            return self._uploads.left(folder)

    def append(self, path: str, body: memoryview | bytes, *, offset: int) -> Entry:
        with self._doing("append", file_path(path)):
            self._require(self._capabilities.appends, path, "adds nothing to files")
            thing = self._file(path)
            if len(thing.body) != offset:
                raise changed(path, f"ends at {len(thing.body)}, not at {offset}")
            return self._keep(path, self._new(thing, body=thing.body + bytes(body)))

    def make_folder(self, path: str, *, facts: Facts = NO_FACTS) -> Entry:
        with self._doing("make_folder", file_path(path)):
            self._require_free(path)
            made = Thing(Kind.FOLDER, modified=self._clock(), mode=0o755)
            return self._keep(path, _with_facts(made, facts))

    def make_link(self, path: str, target: str) -> Entry:
        with self._doing("make_link", file_path(path)):
            self._require(self._capabilities.links, path, "keeps no links")
            self._require_free(path)
            return self._keep(path, self._new(Thing(Kind.LINK, mode=0o777), target=target))

    def set_facts(self, path: str, facts: Facts, *, condition: Condition = ANYTHING) -> Entry:
        with self._doing("set_facts", file_path(path)):
            self._require_condition(path, condition)
            return self._keep(path, _with_facts(self._thing(path), facts))

    def attributes(self, path: str) -> Facts:
        with self._doing("attributes", file_path(path)):
            thing = self._thing(path)
            return Facts(thing.modified, thing.mode, thing.owner, dict(thing.attributes))

    def remove(self, path: str, *, condition: Condition = ANYTHING) -> None:
        with self._doing("remove", file_path(path)):
            self._require_condition(path, condition)
            if self._entry(path).kind is Kind.FOLDER:
                raise failure(errno.EISDIR, path, "is a folder")
            self._things.pop(path)

    def remove_many(self, paths: Sequence[str]) -> Sequence[OSError | None]:
        return [self._removed(path) for path in paths]

    def remove_folder(self, path: str) -> None:
        with self._doing("remove_folder", file_path(path)):
            if self._entry(path).kind is not Kind.FOLDER:
                raise failure(errno.ENOTDIR, path, "is no folder")
            if self._things.first_below(path):
                raise failure(errno.ENOTEMPTY, path, "is not empty")
            self._things.pop(path)

    def rename(self, source: str, target: str, *, replace: bool = True) -> None:
        with self._doing("rename", file_path(source)):
            self._require_rename(self._thing(source), source, file_path(target), replace=replace)
            moved = [source, *self._things.below(source)]
            for path in moved:
                self._things.set(target + path.removeprefix(source), self._things.pop(path))

    def copy(self, source: str, target: str, *, condition: Condition = ANYTHING) -> Entry:
        with self._doing("copy", file_path(source)):
            self._require(self._capabilities.copies, source, "copies nothing by itself")
            thing = self._file(source)
            facts = Facts(mode=thing.mode, attributes=thing.attributes)
            return self._placed(file_path(target), thing.body, facts, condition)

    def space(self) -> Space | None:
        with self._doing("space", ROOT):
            return Space(1 << 40, 1 << 39, 1 << 20, 1 << 19)

    @contextmanager
    def _doing(self, operation: str, path: str) -> Iterator[None]:
        self.before(operation, path)
        with self._guard:
            yield

    def _entry(self, path: str) -> Entry:
        thing = self._things.get(path)
        if thing is None and (path == ROOT or self._is_implied(path)):
            thing = Thing(Kind.FOLDER, mode=0o755)
        if thing is None:
            raise failure(errno.ENOENT, path, "there is nothing")
        entry = thing.entry(path)
        able = self._capabilities
        return changed_in(entry, mode=entry.mode if able.modes else None, owner=entry.owner if able.owners else None)

    def _is_implied(self, path: str) -> bool:
        return not self._capabilities.folders and self._things.first_below(path) is not None

    def _thing(self, path: str) -> Thing:
        thing = self._things.get(path)
        if thing is None:
            self._entry(path)
            return Thing(Kind.FOLDER, mode=0o755)
        return thing

    def _file(self, path: str) -> Thing:
        thing = self._thing(path)
        if thing.kind is Kind.FOLDER:
            raise failure(errno.EISDIR, path, "is a folder")
        if thing.kind is Kind.LINK:
            raise failure(errno.ELOOP, path, "is a link")
        return thing

    def _inside(self, folder: str, rest: str) -> Iterator[tuple[str, Entry]]:
        """What is in a folder, each with the path from which on the following ones lie."""
        inside = f"{folder}/" if folder else ""
        path = self._things.first_below(folder, rest)
        while path is not None:
            child, deeper, _ = path.removeprefix(inside).partition("/")
            after = inside + child + _AFTER_SLASH if deeper else path + "\0"
            if is_path(child) and (not deeper or self._things.get(inside + child) is None):
                yield after, self._entry(inside + child)
            path = self._things.first_below(folder, after)

    def _new(self, thing: Thing, *, body: bytes = b"", target: str = "") -> Thing:
        version = str(next(self._versions))
        return changed_in(thing, body=body, target=target, modified=self._clock(), version=version)

    def _keep(self, path: str, thing: Thing) -> Entry:
        self._things.set(path, thing)
        return self._entry(path)

    def _placed(self, path: str, body: bytes, facts: Facts, condition: Condition) -> Entry:
        self._require_place(path)
        self._require_condition(path, condition)
        there = self._things.get(path)
        if there is not None and there.kind is Kind.FOLDER:
            raise failure(errno.EISDIR, path, "is a folder")
        return self._keep(path, _with_facts(self._new(Thing(Kind.FILE), body=body), facts))

    def _finished_before(self, upload: Upload, version: str) -> Entry:
        thing = self._things.get(upload.path)
        if thing is None or thing.version != version:
            raise failure(errno.ENOENT, upload.path, "the upload is there no more, and the file is another one")
        return self._entry(upload.path)

    def _removed(self, path: str) -> OSError | None:
        try:
            self.remove(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            return error
        return None

    def _require(self, able: bool, path: str, why: str) -> None:
        if not able:
            raise unsupported(path, f"this backend {why}")

    def _require_folder(self, path: str) -> None:
        if self._capabilities.folders and self._entry(path).kind is not Kind.FOLDER:
            raise failure(errno.ENOTDIR, path, "is no folder")

    def _require_place(self, path: str) -> None:
        longest = self._capabilities.longest
        if longest is not None and len(encoded(path)) > longest:
            raise failure(errno.ENAMETOOLONG, path, f"has more than {longest} bytes")
        if self._capabilities.folders:
            self._require_folder(parent(path))

    def _require_free(self, path: str) -> None:
        self._require_place(path)
        if self._things.get(path) is not None or self._is_implied(path):
            raise failure(errno.EEXIST, path, "something is there")

    def _require_condition(self, path: str, condition: Condition) -> None:
        there = self._things.get(path)
        if condition.absent and there is not None:
            raise changed(path, "there is something by now")
        if condition.version and (there is None or there.version != condition.version):
            raise changed(path, "there is another version by now, or nothing")

    def _require_rename(self, thing: Thing, source: str, target: str, *, replace: bool) -> None:
        folder = thing.kind is Kind.FOLDER
        able = self._capabilities.renames
        self._require(able is Renames.TREES or (able is Renames.FILES and not folder), source, "does not rename that")
        self._require_place(target)
        if target.startswith(f"{source}/"):
            raise failure(errno.EINVAL, target, "lies in what is to be renamed")
        there = self._things.get(target)
        if there is None:
            return
        if not replace:
            raise failure(errno.EEXIST, target, "something is there")
        if folder != (there.kind is Kind.FOLDER):
            raise failure(errno.ENOTDIR if folder else errno.EISDIR, target, "is of another kind")
        if self._things.first_below(target):
            raise failure(errno.ENOTEMPTY, target, "is not empty")


def _with_facts(thing: Thing, facts: Facts) -> Thing:
    return changed_in(
        thing,
        modified=thing.modified if facts.modified is None else facts.modified,
        mode=thing.mode if facts.mode is None else facts.mode,
        owner=facts.owner or thing.owner,
        attributes=thing.attributes if facts.attributes is None else dict(facts.attributes),
    )
