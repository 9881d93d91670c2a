"""Finds files below a folder, and never any other, whoever puts links there meanwhile.

Part after part of a path is opened in the folder before, without following links; what a link holds is taken in its
place. So a path leads where it led at that moment, and the handle stays with what was found. What is found is not
opened for reading: that would wait for a pipe, or wake a device.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Protocol

from paddleflow.problems import FileNotFound, FileUnusable, FolderNotAllowed, PathEscapes, Problem
from pf_fs.ports import Folder
from pf_fs.rules import SECRETS
from pf_kit.fields import shown

MOST_LINKS = 40
"""In one path; as the kernel has it."""
MOST_STEPS = 4096
"""Folders entered for one path, by all links in it together."""
_AS_IT_IS = os.O_PATH | os.O_NOFOLLOW
_FULL = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "the quota of the disk is used up"}


class OnMissing(Protocol):
    """Makes what is missing."""

    def __call__(self, handle: int, part: str) -> None:
        """Makes a folder in one that is open, unless somebody else just did."""


@contextmanager
def top(folder: Folder) -> Iterator[int]:
    """The folder of a filesystem, open; PathEscapes if another one took its place since it was found."""
    handle = os.open("/", os.O_PATH | os.O_DIRECTORY)
    try:
        for part in folder.path.parts[1:]:
            handle = _exchanged(handle, os.open(part, _AS_IT_IS | os.O_DIRECTORY, dir_fd=handle))
        found = os.fstat(handle)
        if (found.st_dev, found.st_ino) != (folder.device, folder.inode):
            raise PathEscapes(f"{shown(str(folder.path))} was replaced just now; try again")
        yield handle
    finally:
        os.close(handle)


@contextmanager
def found(
    folder: int, path: PurePosixPath, *, follow: bool = True, on_missing: OnMissing | None = None
) -> Iterator[int]:
    """What lies at a path below an open folder, without being open for reading.

    The last part is followed if it is a link, unless told otherwise. Raises FileNotFound, FileUnusable, PathEscapes and
    FolderNotAllowed.
    """
    walk = _Walk(folder, path, on_missing)
    try:
        with told(path):
            walk.go(follow=follow)
        yield walk.handle
    finally:
        walk.close()


@contextmanager
def told(path: PurePosixPath) -> Iterator[None]:
    """What the machine says against a path, as a problem."""
    try:
        yield
    except OSError as error:
        raise problem_of(path, error) from None


def problem_of(path: PurePosixPath, error: OSError) -> Problem:
    if error.errno == errno.ENOENT:
        return FileNotFound(f"there is nothing at {shown(str(path))}")
    return FileUnusable(f"{shown(str(path))}: {_FULL.get(error.errno or 0) or error.strerror}")


def require_shared(path: PurePosixPath, part: str) -> None:
    """Raises FolderNotAllowed if a part of a path is a folder of secrets."""
    if part in SECRETS:
        raise FolderNotAllowed(f"{shown(str(path))} leads into {part}, which is never shared")


class _Walk:
    """One way down."""

    def __init__(self, folder: int, path: PurePosixPath, on_missing: OnMissing | None) -> None:
        self._folder = folder
        self._path = path
        self._on_missing = on_missing
        self._todo = deque(path.parts)
        self._names: list[str] = []
        """Of the folders entered: none of them is a link."""
        self._links = self._steps = 0
        self.handle = os.dup(folder)

    def go(self, *, follow: bool) -> None:
        """To the end of the path."""
        while self._todo:
            self._steps += 1
            part = self._todo.popleft()
            if self._steps > MOST_STEPS:
                raise FileUnusable(f"{shown(str(self._path))} leads through too many links")
            if part == "..":
                self._back()
            elif part not in ("", "."):
                self._enter(part, follow=follow or bool(self._todo))

    def close(self) -> None:
        os.close(self.handle)

    def _enter(self, part: str, *, follow: bool) -> None:
        require_shared(self._path, part)
        inner = self._opened(part)
        if follow and stat.S_ISLNK(os.fstat(inner).st_mode):
            target = _target(inner)
            os.close(inner)
            self._turn(target)
        else:
            self._names.append(part)
            self.handle = _exchanged(self.handle, inner)

    def _opened(self, part: str) -> int:
        try:
            return os.open(part, _AS_IT_IS, dir_fd=self.handle)
        except FileNotFoundError:
            if self._on_missing is None:
                raise
        self._on_missing(self.handle, part)
        return os.open(part, _AS_IT_IS, dir_fd=self.handle)

    def _turn(self, target: str) -> None:
        """What a link holds comes in its place."""
        self._links += 1
        if self._links > MOST_LINKS:
            raise FileUnusable(f"{shown(str(self._path))} leads through too many links")
        if target.startswith("/"):
            raise PathEscapes(f"{shown(str(self._path))} leads out of the filesystem, by a link to {shown(target)}")
        self._todo.extendleft(reversed(target.split("/")))

    def _back(self) -> None:
        """From the top anew: the folder above is not asked for, since somebody may move the one below."""
        if not self._names:
            raise PathEscapes(f"{shown(str(self._path))} leads out of the filesystem, by a link with '..'")
        self._names.pop()
        self._todo.extendleft(reversed(self._names))
        self._names = []
        self.handle = _exchanged(self.handle, os.dup(self._folder))


def _exchanged(old: int, new: int) -> int:
    os.close(old)
    return new


def _target(handle: int) -> str:
    """What a link holds that was found."""
    return os.readlink("", dir_fd=handle)


@contextmanager
def listable(handle: int) -> Iterator[int]:
    """A folder that was found, open for its names."""
    opened = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=handle)
    try:
        yield opened
    finally:
        os.close(opened)


@contextmanager
def readable(handle: int) -> Iterator[int]:
    """A regular file that was found, open for its bytes."""
    opened = os.open(f"/proc/self/fd/{handle}", os.O_RDONLY | os.O_NOCTTY)
    try:
        yield opened
    finally:
        os.close(opened)


def mount_of(handle: int) -> str:
    """Tells mounts apart, also those that show a part of the same disk."""
    told_by_kernel = Path(f"/proc/self/fdinfo/{handle}").read_text("utf-8")
    return next(line for line in told_by_kernel.splitlines() if line.startswith("mnt_id:"))


def make_folder(handle: int, part: str) -> None:
    """Makes a folder in one that is open, with its owner, group and permissions. Fulfils `OnMissing`."""
    try:
        os.mkdir(part, 0o700, dir_fd=handle)
    except FileExistsError:
        return
    made = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=handle)
    try:
        _inherit(os.fstat(handle), made)
    finally:
        os.close(made)


def _inherit(above: os.stat_result, made: int) -> None:
    own = os.fstat(made)
    if own.st_uid != os.geteuid():
        # Not the one that was made: somebody who may write here put another in its place, and keeps it.
        return
    # Who is not root cannot give a folder away: then it stays whose it is.
    with suppress(PermissionError):
        if (own.st_uid, own.st_gid) != (above.st_uid, above.st_gid):
            os.fchown(made, above.st_uid, above.st_gid)
    os.fchmod(made, stat.S_IMODE(above.st_mode))
