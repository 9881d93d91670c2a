"""What is done with files in a backend. It blocks, and fails as backends do."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from pf_backends.entries import ROOT, Condition, Entry, Facts, Kind, Page, Part, Renames, Upload
from pf_backends.errors import Changed, failure, unsupported
from pf_backends.paths import parent
from pf_backends.port import ANYTHING, NO_FACTS, Backend
from pf_fs.manager.domain import LARGEST_PART, Begun, Removal

PAGE = 1000
_NEW = Condition(absent=True)
_STILL_USED = (errno.ENOTEMPTY, errno.EEXIST)


def look(backend: Backend, path: str) -> Entry:
    return backend.stat(path)


def listed(backend: Backend, path: str, rest: str, limit: int, *, recursive: bool) -> Page:
    page = (backend.walk if recursive else backend.list)(path, rest=rest, limit=limit)
    if not page.entries and not rest:
        # Where folders are no things of their own, nothing in it and nothing there look the same.
        _require_folder(backend.stat(path))
    return page


def read(backend: Backend, path: str, offset: int, length: int, version: str) -> bytes:
    buffer = bytearray(length)
    count = backend.read(path, offset, memoryview(buffer), version=version)
    return bytes(memoryview(buffer)[:count])


def make_folder(backend: Backend, path: str) -> None:
    """Makes a folder and those above it that are missing."""
    missing = []
    while path != ROOT:
        try:
            _require_folder(backend.stat(path))
            break
        except FileNotFoundError:
            missing.append(path)
            path = parent(path)
    for each in reversed(missing):
        with suppress(FileExistsError):
            backend.make_folder(each, facts=_facts(backend, each, folder=True))


def remove(backend: Backend, path: str, *, recursive: bool, spent: Callable[[], bool]) -> Removal:
    """Removes what lies at a path, as far as it gets until the time is spent."""
    if backend.stat(path).kind is not Kind.FOLDER:
        backend.remove(path)
        return Removal(1, pending=False)
    removed = 0
    while recursive:
        number, complete = _swept(backend, path, spent)
        removed += number
        if not complete:
            return Removal(removed, pending=True)
        if not number:
            break
    with suppress(FileNotFoundError):
        backend.remove_folder(path)
        removed += 1
    return Removal(removed, pending=False)


def rename(backend: Backend, path: str, target: str, *, replace: bool) -> None:
    entry = backend.stat(path)
    renames = backend.capabilities.renames
    if renames is Renames.TREES or (renames is Renames.FILES and entry.kind is not Kind.FOLDER):
        backend.rename(path, target, replace=replace)
        return
    if entry.kind is Kind.FOLDER:
        raise unsupported(path, "is a folder, which this place cannot rename; copy it, and remove it then")
    with _placing(target, replace=replace) as condition:
        backend.copy(path, target, condition=condition)
    backend.remove(path, condition=Condition(version=entry.version))


def copy(backend: Backend, path: str, target: str, *, replace: bool) -> Entry:
    if not backend.capabilities.copies:
        raise unsupported(path, "lies where nothing is copied by itself; read it, and write it again")
    with _placing(target, replace=replace) as condition:
        return backend.copy(path, target, condition=condition)


def write(backend: Backend, path: str, data: bytes, *, replace: bool) -> Entry:
    with _placing(path, replace=replace) as condition:
        return backend.put(path, data, facts=_facts(backend, path), condition=condition)


def touch(backend: Backend, path: str, now: int) -> Entry:
    """An empty file, or one that is there with this time of change."""
    try:
        return write(backend, path, b"", replace=False)
    except FileExistsError:
        return backend.set_facts(path, Facts(modified=now))


def begin(backend: Backend, path: str, size: int) -> Begun:
    """An upload in parts that are as small as can be."""
    parts = backend.capabilities.parts
    if parts is None:
        raise unsupported(path, "lies where large files are not taken in parts")
    part_size = max(parts.least, -(-size // parts.count))
    if part_size > min(parts.most, LARGEST_PART):
        raise failure(errno.EFBIG, path, f"would have {size} bytes, more than can be sent")
    return Begun(backend.begin(path, facts=_facts(backend, path)).id, part_size, parts.count)


def send(backend: Backend, upload: Upload, number: int, body: memoryview | bytes) -> Part:
    return backend.send(upload, number, body)


def finish(backend: Backend, upload: Upload, parts: Sequence[Part], *, replace: bool) -> Entry:
    with _placing(upload.path, replace=replace) as condition:
        return backend.finish(upload, parts, condition=condition)


def _swept(backend: Backend, path: str, spent: Callable[[], bool]) -> tuple[int, bool]:
    """Goes once through all below a folder: how much it removed, and whether it came to the end."""
    removed, rest = 0, ""
    while True:
        page = backend.walk(path, rest=rest, limit=PAGE)
        files = [each.path for each in page.entries if each.kind is not Kind.FOLDER]
        if wrong := [error for error in backend.remove_many(files) if error is not None]:
            raise wrong[0]
        removed += len(files) + _without(backend, [each.path for each in page.entries if each.kind is Kind.FOLDER])
        if not page.rest:
            return removed, True
        # Whatever the time: a call that removed nothing would be made again for ever.
        if removed and spent():
            return removed, False
        rest = page.rest


def _without(backend: Backend, folders: Sequence[str]) -> int:
    """Removes those folders that are empty, the innermost first; how many they were."""
    removed = 0
    for folder in sorted(folders, key=lambda path: path.count("/"), reverse=True):
        try:
            backend.remove_folder(folder)
            removed += 1
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno not in _STILL_USED:
                raise
    return removed


def _facts(backend: Backend, path: str, *, folder: bool = False) -> Facts:
    """Whose a new thing is, and who may do what with it: as of the folder it comes into."""
    if not backend.capabilities.owners:
        return NO_FACTS
    above = backend.stat(parent(path))
    mode = above.mode if above.mode is None or folder else above.mode & 0o666
    return Facts(owner=above.owner, mode=mode)


@contextmanager
def _placing(path: str, *, replace: bool) -> Iterator[Condition]:
    """What must hold where a file is to be; FileExistsError if it is to be new there, and is not."""
    if replace:
        yield ANYTHING
        return
    try:
        yield _NEW
    except Changed:
        raise failure(errno.EEXIST, path, "is there already") from None


def _require_folder(entry: Entry) -> None:
    if entry.kind is not Kind.FOLDER:
        raise failure(errno.ENOTDIR, entry.path, "is no folder")
