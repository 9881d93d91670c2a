"""How a file appears at once, whole, and only if what lies there is what its writer thinks.

Bytes go into a file without a name, or with a hidden one where the disk cannot do that, in the folder where it is to
be: it gets the group, the rules and the quota of that folder. Whoever puts something into a place, or takes it away,
holds the lock of the folder for a moment; that is what makes a condition hold among all who use this module on a
folder, on this machine and, where the disk is shared and carries locks, on others. It binds no other program. That a
place is empty is checked by the kernel itself, against everybody.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pf_backends.entries import Condition, Facts
from pf_backends.errors import changed, unreachable
from pf_backends.hidden import own_name
from pf_backends.local.looking import NAMESPACE, version_of, way_to
from pf_backends.local.syscalls import rename_new

NEW_FILE = 0o666
"""Permissions before the umask of the process."""
NEW_FOLDER = 0o777
_LOST = {
    (True, True): "there is something by now",
    (True, False): "there is another version by now",
    (False, False): "there is nothing any more",
}
_NO_LOCKS = (errno.EBADF, errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS)
_NO_NAMELESS = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)


class Draft:
    """A file that is not at its place yet."""

    def __init__(self, folder: int, handle: int, name: str = "") -> None:
        self._folder = folder
        self.handle = handle
        self._name = name

    def close(self) -> None:
        """Lets go of it, and removes it if it did not get to its place."""
        os.close(self.handle)
        if self._name:
            with suppress(FileNotFoundError):
                os.unlink(self._name, dir_fd=self._folder)

    def place(self, name: str, path: str, condition: Condition) -> None:
        """It is at its place, on the disk, if the condition holds."""
        require(self._folder, name, path, condition)
        if condition.absent:
            self._place_new(name, path)
        else:
            self._place_over(name)
        os.fsync(self._folder)

    def _place_new(self, name: str, path: str) -> None:
        try:
            if self._name:
                rename(self._folder, self._name, self._folder, name, replace=False)
            else:
                _link(self.handle, self._folder, name)
        except FileExistsError:
            raise changed(path, "there is something by now") from None
        self._name = ""

    def _place_over(self, name: str) -> None:
        if not self._name:
            self._name = own_name()
            _link(self.handle, self._folder, self._name)
        os.rename(self._name, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        self._name = ""


@contextmanager
def drafted(folder: int, mode: int = NEW_FILE) -> Iterator[Draft]:
    """A new file for a folder that is open."""
    draft = _nameless(folder, mode) or _hidden(folder, mode)
    try:
        yield draft
    finally:
        draft.close()


def rename(here: int, old: str, there: int, new: str, *, replace: bool) -> None:
    if replace:
        os.rename(old, new, src_dir_fd=here, dst_dir_fd=there)
        return
    try:
        rename_new(here, os.fsencode(old), there, os.fsencode(new))
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        # The disk knows no such rename, as NFS: a second name, which cannot be had twice, and away with the first.
        os.link(old, new, src_dir_fd=here, dst_dir_fd=there, follow_symlinks=False)
        os.unlink(old, dir_fd=here)


@contextmanager
def locked(folder: int, path: str, patience: float) -> Iterator[None]:
    """The lock of an open folder. Unreachable if another program holds it for longer than the patience, in seconds."""
    deadline = time.monotonic() + patience
    while not _took_lock(folder):
        if time.monotonic() > deadline:
            raise unreachable(path, "another program keeps the folder locked")
        time.sleep(0.001)
    try:
        yield
    finally:
        with suppress(OSError):
            fcntl.flock(folder, fcntl.LOCK_UN)


def can_lock(folder: int) -> bool:
    """True if folders of this disk have locks."""
    try:
        fcntl.flock(folder, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    fcntl.flock(folder, fcntl.LOCK_UN)
    return True


def require(folder: int, name: str, path: str, condition: Condition) -> None:
    """Changed if a condition does not hold just now."""
    if not condition.version and not condition.absent:
        return
    try:
        found = version_of(os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        found = ""
    if found != condition.version:
        raise changed(path, _LOST[bool(found), condition.absent])


def write_all(handle: int, body: memoryview | bytes, offset: int = 0) -> None:
    left = memoryview(body).cast("B")
    while left:
        written = os.pwrite(handle, left, offset)
        left, offset = left[written:], offset + written


def keep(handle: int, facts: Facts) -> None:
    """Gives facts to something that was found, as far as this user may."""
    way = way_to(handle)
    if facts.owner is not None:
        # Who is not root cannot give a file away: then it stays whose it is.
        with suppress(PermissionError):
            os.chown(way, *facts.owner)
    if facts.mode is not None:
        os.chmod(way, facts.mode)
    if facts.attributes is not None:
        _keep_attributes(way, facts)
    if facts.modified is not None:
        os.utime(way, ns=(facts.modified, facts.modified))


def _keep_attributes(way: str, facts: Facts) -> None:
    wanted = facts.attributes or {}
    for name in os.listxattr(way):
        if name.startswith(NAMESPACE) and name not in wanted:
            os.removexattr(way, name)
    for name, value in wanted.items():
        os.setxattr(way, name, value)


def _nameless(folder: int, mode: int) -> Draft | None:
    try:
        return Draft(folder, os.open(".", os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, mode, dir_fd=folder))
    except OSError as error:
        if error.errno in _NO_NAMELESS:
            return None
        raise


def _hidden(folder: int, mode: int) -> Draft:
    name = own_name()
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    return Draft(folder, os.open(name, flags, mode, dir_fd=folder), name)


def _link(handle: int, folder: int, name: str) -> None:
    os.link(way_to(handle), name, dst_dir_fd=folder, follow_symlinks=True)


def _took_lock(folder: int) -> bool:
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return True
        raise
    return True
