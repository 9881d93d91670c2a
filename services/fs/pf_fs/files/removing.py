"""Removes files, and folders with all in them, as far as one call may."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from itertools import islice
from pathlib import PurePosixPath

from paddleflow.problems import FileNotFound, FileUnusable
from pf_fs.files.beneath import found, mount_of, require_shared, told
from pf_fs.files.budget import Budget
from pf_fs.files.domain import MOST_LEVELS
from pf_kit.fields import shown

AT_ONCE = 1000
"""Names that are listed before they are removed: a folder may have millions."""


def remove(folder: int, path: PurePosixPath, budget: Budget) -> None:
    """Removes what lies at a path; a link as such. Raises Spent, and what `found` does."""
    require_shared(path, path.name)
    with suppress(FileNotFound), found(folder, path.parent) as above, told(path):
        _Removal(path, budget).drop(above, path.name)


class _Removal:
    """The removal of one path."""

    def __init__(self, path: PurePosixPath, budget: Budget) -> None:
        self._path = path
        self._budget = budget
        self._mount = ""
        """On which all of it lies."""

    def drop(self, above: int, name: str) -> None:
        """Removes a thing in an open folder."""
        self._mount = mount_of(above)
        if not stat.S_ISDIR(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=above)
            return
        handle = self._open(name, above)
        try:
            self._drop_folder(above, name, handle)
        finally:
            os.close(handle)

    def _drop_folder(self, above: int, name: str, handle: int) -> None:
        while True:
            self._empty(handle, handle, 1)
            try:
                os.rmdir(name, dir_fd=above)
            except OSError as error:
                # Somebody still writes into it.
                if error.errno != errno.ENOTEMPTY:
                    raise
            else:
                return
            self._budget.check()

    def _empty(self, handle: int, top: int, level: int) -> None:
        while names := _names(handle):
            for name, is_folder in names:
                self._budget.check()
                with suppress(FileNotFoundError):
                    if is_folder:
                        self._drop_inner(name, handle, top, level)
                    else:
                        os.unlink(name, dir_fd=handle)

    def _drop_inner(self, name: str, above: int, top: int, level: int) -> None:
        if level >= MOST_LEVELS:
            # Each level takes a handle. At the top it is found again, with less above it.
            os.rename(name, f".{os.urandom(8).hex()}", src_dir_fd=above, dst_dir_fd=top)
            return
        handle = self._open(name, above)
        try:
            self._empty(handle, top, level + 1)
        finally:
            os.close(handle)
        try:
            os.rmdir(name, dir_fd=above)
        except OSError as error:
            # As above; it is found again by whoever lists the folder that it is in.
            if error.errno != errno.ENOTEMPTY:
                raise

    def _open(self, name: str, above: int) -> int:
        handle = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
        if mount_of(handle) != self._mount:
            os.close(handle)
            raise FileUnusable(f"{shown(str(self._path))}: {shown(name)} in it is the mount of another filesystem")
        return handle


def _names(handle: int) -> list[tuple[str, bool]]:
    """Some of the names in a folder, and whether they are folders."""
    with os.scandir(handle) as entries:
        return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in islice(entries, AT_ONCE)]
