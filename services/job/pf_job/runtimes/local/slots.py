"""Folders for temporary files, each of which one replica has at a time. To make new ones would take the disk long."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from pf_job.runtimes.local import files

USED = "used-"
"""Begins the name of a folder that is about to be removed."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A folder, empty."""

    number: int
    path: str


class Slots:
    """Knows which are taken."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._taken: set[int] = set()

    def take(self, uid: int | None) -> Slot:
        """One that is free, for the replica of a user; None is the user of the runner."""
        owner = os.geteuid() if uid is None else uid
        free = [number for number in range(len(self._taken) + 1) if number not in self._taken]
        number = next((number for number in free if self._is_of(number, owner)), free[0])
        path = f"{self._root}/{number}"
        # Whoever had it before may have it open still. So it goes to no other user, and to the same one if it is empty.
        with suppress(FileNotFoundError):
            if os.listdir(path) or not self._is_of(number, owner):
                self._set_aside(number)
        with suppress(FileExistsError):
            os.mkdir(path)
        os.chmod(path, 0o700)
        os.chown(path, owner, owner if uid is not None else -1)
        self._taken.add(number)
        return Slot(number, path)

    def _is_of(self, number: int, uid: int) -> bool:
        try:
            return os.stat(f"{self._root}/{number}").st_uid == uid
        except FileNotFoundError:
            return False

    def claim(self, number: int) -> None:
        """It is in use since before."""
        self._taken.add(number)

    def give_back(self, number: int) -> None:
        self._taken.discard(number)

    def clean(self) -> None:
        """Removes what was left in folders that nobody has, in a process of its own, since it may be much."""
        for number in self._free():
            if os.listdir(f"{self._root}/{number}"):
                self._set_aside(number)
        used = [name for name in os.listdir(self._root) if name.startswith(USED)]
        if used and os.fork() == 0:
            try:
                # Who waits for the end of the runner, or of its start, must not wait for this.
                os.closerange(3, 2**20)
                root = files.open_folder(self._root)
                for name in used:
                    files.remove_tree(root, name)
            finally:
                os._exit(0)

    def _free(self) -> Iterable[int]:
        names = os.listdir(self._root)
        return [int(name) for name in names if name.isdecimal() and int(name) not in self._taken]

    def _set_aside(self, number: int) -> None:
        with suppress(OSError):
            os.rmdir(f"{self._root}/{number}")
            return
        found = os.listdir(self._root)
        aside = next(name for name in map(f"{USED}{{}}".format, range(len(found) + 1)) if name not in found)
        os.rename(f"{self._root}/{number}", f"{self._root}/{aside}")
