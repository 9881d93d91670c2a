"""A folder of this machine, or one that is mounted on it."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from pf_backends.entries import Capabilities, Condition, Entry, Facts, Page, Part, Renames, Space, Upload
from pf_backends.errors import changed, failure
from pf_backends.hidden import OWN
from pf_backends.kept import require_untouched, require_version
from pf_backends.listings import Listings, descended
from pf_backends.local.beneath import Top, require_file, told
from pf_backends.local.looking import entry_of, facts_of, inside, opened_entry, version_of, way_to
from pf_backends.local.uploads import PARTS, Uploads
from pf_backends.local.writing import NEW_FOLDER, Draft, can_lock, drafted, keep, locked, rename, require, write_all
from pf_backends.paths import file_path
from pf_backends.port import ANYTHING, NO_FACTS

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
"""A pipe is not waited for; what is no file is told apart once it is open."""
_LOOKS = 3
"""How often a file is read again that changes meanwhile."""


class LocalBackend:
    """Fulfils `Backend` over a folder. Processes that have it too, on a shared disk or not, see all at once."""

    def __init__(self, folder: str, *, patience: float = 30.0, clock: Callable[[], int] = time.time_ns) -> None:
        self._folder = folder
        self._patience = patience
        self._clock = clock
        with told(folder):
            self._top = Top(folder)
        self._listings = Listings()
        self._uploads = Uploads(self._top, clock, patience)
        self._capabilities = self._found_capabilities()

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    @property
    def address(self) -> str:
        return f"local://{self._folder}"

    def check(self) -> None:
        with self._top.opened("", os.O_RDONLY | os.O_DIRECTORY) as top, told(self._folder), os.scandir(top) as names:
            next(names, None)

    def close(self) -> None:
        self._listings.close()
        self._top.close()

    def stat(self, path: str) -> Entry:
        with self._top.opened(path, os.O_PATH) as handle, told(path):
            return opened_entry(path, handle)

    def list(self, folder: str, *, rest: str = "", limit: int = 1000) -> Page:
        return self._listings.page(folder, lambda: inside(self._top, folder), rest, limit)

    def walk(self, folder: str, *, rest: str = "", limit: int = 1000) -> Page:
        return self._listings.page(folder, lambda: descended(lambda each: inside(self._top, each), folder), rest, limit)

    def read(self, path: str, offset: int, into: memoryview, *, version: str = "") -> int:
        with self._top.opened(path, _READ) as handle, told(path):
            self._require_version(path, handle, version)
            count = _filled(handle, into, offset)
            if version:
                self._require_version(path, handle, version)
            return count

    def fetch(self, path: str, *, limit: int) -> tuple[Entry, bytes]:
        for _ in range(_LOOKS):
            with self._top.opened(path, _READ) as handle, told(path):
                before = os.fstat(handle)
                require_file(path, before)
                if before.st_size > limit:
                    raise failure(errno.EFBIG, path, f"has {before.st_size} bytes, more than {limit}")
                body = bytearray(before.st_size)
                count = _filled(handle, memoryview(body), 0)
                if count == len(body) and version_of(os.fstat(handle)) == version_of(before):
                    return entry_of(path, before), bytes(body)
        raise changed(path, "is written to all the time")

    def put(
        self, path: str, body: memoryview | bytes, *, facts: Facts = NO_FACTS, condition: Condition = ANYTHING
    ) -> Entry:
        with self._top.around(file_path(path)) as (folder, name), drafted(folder) as draft:
            write_all(draft.handle, body)
            keep(draft.handle, facts)
            return self._placed(folder, name, path, draft, facts, condition)

    def begin(self, path: str, *, facts: Facts = NO_FACTS) -> Upload:
        return self._uploads.begin(file_path(path), facts)

    def send(self, upload: Upload, number: int, body: memoryview | bytes) -> Part:
        return self._uploads.send(upload, number, body)

    def finish(self, upload: Upload, parts: Sequence[Part], *, condition: Condition = ANYTHING) -> Entry:
        return self._uploads.finish(upload, parts, condition)

    def drop(self, upload: Upload) -> None:
        self._uploads.drop(upload)

    def uploads(self, folder: str) -> Sequence[Upload]:
        return self._uploads.left(folder)

    def append(self, path: str, body: memoryview | bytes, *, offset: int) -> Entry:
        with (
            self._top.around(file_path(path)) as (folder, _),
            locked(folder, path, self._patience),
            self._top.opened(path, os.O_WRONLY | os.O_NONBLOCK) as handle,
        ):
            found = os.fstat(handle)
            require_file(path, found)
            if found.st_size != offset:
                raise changed(path, f"ends at {found.st_size}, not at {offset}")
            write_all(handle, body, offset)
            os.fsync(handle)
            return opened_entry(path, handle)

    def make_folder(self, path: str, *, facts: Facts = NO_FACTS) -> Entry:
        with self._top.around(file_path(path)) as (folder, name):
            os.mkdir(name, NEW_FOLDER, dir_fd=folder)
            os.fsync(folder)
        return self.set_facts(path, facts)

    def make_link(self, path: str, target: str) -> Entry:
        with self._top.around(file_path(path)) as (folder, name):
            os.symlink(target, name, dir_fd=folder)
            os.fsync(folder)
        return self.stat(path)

    def set_facts(self, path: str, facts: Facts, *, condition: Condition = ANYTHING) -> Entry:
        with self._top.opened(path, os.O_PATH) as handle, told(path):
            before = opened_entry(path, handle)
            require_version(before, condition)
            keep(handle, facts)
            return require_untouched(before, opened_entry(path, handle), facts, condition)

    def attributes(self, path: str) -> Facts:
        with self._top.opened(path, os.O_PATH) as handle:
            return facts_of(path, handle)

    def remove(self, path: str, *, condition: Condition = ANYTHING) -> None:
        with self._top.around(file_path(path)) as (folder, name), locked(folder, path, self._patience):
            require(folder, name, path, condition)
            _unlink(folder, name, path)
            os.fsync(folder)

    def remove_many(self, paths: Sequence[str]) -> Sequence[OSError | None]:
        return [self._removed(path) for path in paths]

    def remove_folder(self, path: str) -> None:
        with self._top.around(file_path(path)) as (folder, name):
            try:
                os.rmdir(name, dir_fd=folder)
            except OSError as error:
                if error.errno != errno.ENOTEMPTY or not self._only_ours(path):
                    raise
                os.rmdir(name, dir_fd=folder)

    def rename(self, source: str, target: str, *, replace: bool = True) -> None:
        with (
            self._top.folder_of(file_path(source)) as (here, old),
            self._top.folder_of(file_path(target)) as (there, new),
            locked(there, target, self._patience),
        ):
            with told(source):
                os.stat(old, dir_fd=here, follow_symlinks=False)
            with told(target):
                rename(here, old, there, new, replace=replace)
                os.fsync(there)

    def copy(self, source: str, target: str, *, condition: Condition = ANYTHING) -> Entry:
        with self._top.opened(file_path(source), _READ) as handle, told(source):
            require_file(source, os.fstat(handle))
            facts = facts_of(source, handle)
            with self._top.around(file_path(target)) as (folder, name), drafted(folder) as draft:
                _copy(handle, draft.handle)
                kept = Facts(None, facts.mode, None, facts.attributes or None)
                keep(draft.handle, kept)
                return self._placed(folder, name, target, draft, kept, condition)

    def space(self) -> Space | None:
        with told(self._folder):
            found = os.fstatvfs(self._top.handle)
        block = found.f_frsize
        return Space(found.f_blocks * block, found.f_bavail * block, found.f_files, found.f_favail)

    def _found_capabilities(self) -> Capabilities:
        with self._top.opened("", os.O_RDONLY | os.O_DIRECTORY) as top:
            return Capabilities(
                conditional=can_lock(top),
                renames=Renames.TREES,
                copies=True,
                appends=True,
                parts=PARTS,
                links=True,
                modes=True,
                owners=True,
                attributes=_keeps_attributes(top),
                byte_names=True,
                precision=1,
            )

    def _placed(self, folder: int, name: str, path: str, draft: Draft, facts: Facts, condition: Condition) -> Entry:
        if facts.modified is None:
            # The clock of disks ticks every few milliseconds: two versions could bear one time.
            now = self._clock()
            os.utime(draft.handle, ns=(now, now))
        os.fsync(draft.handle)
        with locked(folder, path, self._patience):
            draft.place(name, path, condition)
            return opened_entry(path, draft.handle)

    def _require_version(self, path: str, handle: int, version: str) -> None:
        found = os.fstat(handle)
        require_file(path, found)
        if version and version_of(found) != version:
            raise changed(path, "there is another version by now")

    def _removed(self, path: str) -> OSError | None:
        try:
            self.remove(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            return error
        return None

    def _only_ours(self, path: str) -> bool:
        """True if nothing but hidden files was in a folder, and they are gone now: what they are for goes too."""
        with self._top.opened(path, os.O_RDONLY | os.O_DIRECTORY) as handle:
            names = os.listdir(handle)
            if not all(name.startswith(OWN) for name in names):
                return False
            for name in names:
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=handle)
        return True


def _filled(handle: int, into: memoryview, offset: int) -> int:
    """Bytes read, as many as there are: a read may be cut short by a signal or by a disk far away."""
    count = 0
    while count < len(into):
        got = os.preadv(handle, [into[count:]], offset + count)
        if not got:
            break
        count += got
    return count


def _unlink(folder: int, name: str, path: str) -> None:
    # Linux says EISDIR of folders, others say EPERM.
    if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        raise failure(errno.EISDIR, path, "is a folder")
    os.unlink(name, dir_fd=folder)


def _copy(source: int, target: int) -> None:
    try:
        while os.copy_file_range(source, target, 1 << 30):
            pass
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
            raise
        # Not all pairs of disks can; what was copied so far moved both positions on.
        while os.sendfile(target, source, None, 1 << 30):
            pass


def _keeps_attributes(handle: int) -> bool:
    try:
        os.getxattr(way_to(handle), "user.pf")
    except OSError as error:
        return error.errno == errno.ENODATA
    return True
