"""Opens what lies beneath a folder, and never anything else, whoever puts links there meanwhile."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from pf_backends.errors import Changed, Unreachable, Unsupported, failure, is_crowded, unreachable
from pf_backends.hidden import require_foreign
from pf_backends.local.syscalls import open_beneath
from pf_backends.paths import folder_path, parent

_ATTEMPTS = 64
"""The kernel gives up on a path with ``..`` in a link whenever a folder is renamed anywhere meanwhile."""
_UNABLE = (errno.ENOSYS, errno.EPERM)
"""What a kernel older than 5.6 says of the call, and what some sandboxes do."""


class Top:
    """A folder, and what lies beneath it.

    Links within a path are followed as long as they stay beneath, by a kernel that can see to that; by others they
    are refused. The last name of a path is never followed.
    """

    def __init__(self, folder: str) -> None:
        self._handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._follows = self._can_follow()

    @property
    def handle(self) -> int:
        return self._handle

    def close(self) -> None:
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)

    def open(self, path: str, flags: int, mode: int = 0) -> int:
        """Opens what lies at a path."""
        require_foreign(folder_path(path))
        with told(path):
            return self._open(path or ".", flags, mode)

    def open_own(self, folder: str, name: str, flags: int, mode: int = 0) -> int:
        """Opens one of the hidden files in a folder."""
        with told(folder), self.opened(folder, os.O_PATH | os.O_DIRECTORY) as handle:
            return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=handle)

    @contextmanager
    def opened(self, path: str, flags: int) -> Iterator[int]:
        """What lies at a path, closed in the end."""
        handle = self.open(path, flags)
        try:
            yield handle
        finally:
            os.close(handle)

    @contextmanager
    def around(self, path: str) -> Iterator[tuple[int, str]]:
        """The folder that a path leads into, and the name in it. What goes wrong there is told against the path."""
        with self.folder_of(path) as (folder, name), told(path):
            yield folder, name

    @contextmanager
    def folder_of(self, path: str) -> Iterator[tuple[int, str]]:
        """The folder that a path leads into, and the name in it."""
        require_foreign(path)
        with told(path):
            # The dot makes the name before it one on the way, which may be a link.
            folder = self._open(f"{parent(path) or '.'}/.", os.O_RDONLY | os.O_DIRECTORY, 0)
        try:
            yield folder, path.rpartition("/")[2]
        finally:
            os.close(folder)

    def _can_follow(self) -> bool:
        try:
            os.close(open_beneath(self._handle, b".", os.O_PATH, 0))
        except OSError as error:
            if error.errno in _UNABLE:
                return False
            raise
        return True

    def _open(self, path: str, flags: int, mode: int) -> int:
        if not self._follows:
            return _walked(self._handle, path, flags, mode)
        for _ in range(_ATTEMPTS):
            try:
                return open_beneath(self._handle, os.fsencode(path), flags | os.O_NOFOLLOW, mode)
            except BlockingIOError:
                continue
            except OSError as error:
                if error.errno == errno.EXDEV:
                    raise failure(errno.EACCES, path, "leads out of the folder, by a link") from None
                raise
        raise failure(errno.EAGAIN, path, "folders are being renamed all the time; try again")


@contextmanager
def told(path: str) -> Iterator[None]:
    """What the machine says, against the path that was asked for."""
    try:
        yield
    except (Changed, Unreachable, Unsupported):
        raise
    except OSError as error:
        if is_crowded(error):
            raise unreachable(path, "too many files are open here") from None
        number = error.errno or errno.EIO
        raise failure(number, path, error.strerror or os.strerror(number)) from None
    except UnicodeEncodeError:
        raise failure(errno.EILSEQ, ascii(path), "is no name that a disk can keep") from None


def require_file(path: str, found: os.stat_result) -> None:
    """Raises what a program expects that reads a folder or a link as if it were a file."""
    if stat.S_ISDIR(found.st_mode):
        raise failure(errno.EISDIR, path, "is a folder")
    if stat.S_ISLNK(found.st_mode):
        raise failure(errno.ELOOP, path, "is a link")
    if not stat.S_ISREG(found.st_mode):
        raise Unsupported(errno.ENOTSUP, "is neither a file nor a folder nor a link", path)


def _walked(top: int, path: str, flags: int, mode: int) -> int:
    """Name after name, none of which may be a link."""
    *folders, name = path.split("/")
    handle = os.dup(top)
    try:
        for folder in folders:
            inner = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=handle)
            os.close(handle)
            handle = inner
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=handle)
    finally:
        os.close(handle)
