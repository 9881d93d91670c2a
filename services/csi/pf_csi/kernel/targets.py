"""Paths that somebody else names, below one folder, and with nothing on the way that leads elsewhere.

Who writes in a pod's folder could put a link in the way and have the driver, which is root, mount or remove somewhere
else. So each is opened part by part without following any, and what is done is done to what was opened.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from paddleflow.mountinfo import ReadMounts, read_mounts
from pf_csi.kernel import libc
from pf_csi.kernel.libc import Resolving, Restricting, Unmounting

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_PLAINLY = Resolving.BENEATH | Resolving.NO_LINKS | Resolving.NO_MAGIC_LINKS
_HIDDEN = 0o000
"""Nobody but root writes into a target that nothing is mounted at."""
_MOST_LAYERS = 64


@dataclass(frozen=True, slots=True)
class Targets:
    """Places below the kubelet's folder. All of it blocks, and none of it asks whoever serves a mount."""

    root: Path
    """Absolute and without links; the kubelet's own, so nobody else can change it."""
    read: ReadMounts = read_mounts

    def make(self, target: str) -> bool:
        """Makes the folder, whose parent must be there; False if it was there already."""
        with self._parent(target) as (parent, name):
            try:
                os.mkdir(name, _HIDDEN, dir_fd=parent)
            except FileExistsError:
                return False
            return True

    def bind(self, source: str, target: str, *, read_only: bool) -> None:
        """Shows at the target what is mounted at the source. OSError if a link is in the way."""
        mount = libc.cloned(source)
        try:
            self._put(mount, target, read_only=read_only)
        finally:
            os.close(mount)

    def bind_within(self, source: str, inner: str, target: str, *, read_only: bool) -> None:
        """The same with a folder of what is mounted, which is asked for: only where somebody serves it."""
        with _opened(source) as folder:
            inside = libc.open_beneath(folder, inner, os.O_PATH, _PLAINLY)
        try:
            mount = libc.cloned_beneath(inside, "")
        finally:
            os.close(inside)
        try:
            self._put(mount, target, read_only=read_only)
        finally:
            os.close(mount)

    def beside(self, target: str, name: str, most: int) -> bytes:
        """What a file in the folder of the target says; nothing if there is none."""
        try:
            with self._parent(target) as (parent, _):
                file = libc.open_beneath(parent, name, os.O_RDONLY | os.O_NONBLOCK, _PLAINLY)
        except OSError:
            return b""
        with os.fdopen(file, "rb") as opened:
            return opened.read(most) if stat.S_ISREG(os.fstat(file).st_mode) else b""

    def clear(self, target: str) -> None:
        """Takes all layers off, however many, and removes the folder; nothing if there is none."""
        try:
            with self._parent(target) as (parent, name):
                self._take_off(parent, name, target)
                with suppress(FileNotFoundError):
                    os.rmdir(name, dir_fd=parent)
        except FileNotFoundError:
            return

    def clear_own(self, target: str) -> None:
        """The same of one that nobody remembers: only what can be told to be the driver's."""
        if any(layer.ours for layer in self.read().layers(target)):
            self.clear(target)
            return
        with suppress(FileNotFoundError, NotADirectoryError), self._parent(target) as (parent, name):
            if self.read().top(target) is None and _is_own(os.lstat(name, dir_fd=parent)):
                os.rmdir(name, dir_fd=parent)

    def peel(self, target: str) -> None:
        """Takes off what is seen there, and shows what was there before."""
        with self._parent(target) as (parent, name):
            libc.unmount(f"/proc/self/fd/{parent}/{name}", Unmounting.NO_FOLLOW | Unmounting.DETACH)

    def relative(self, target: str) -> str:
        """The path below the root; OSError if it leads out."""
        parts = target.split("/")
        plain = target.startswith("/") and "\0" not in target and not {".", "..", ""} & set(parts[1:])
        if not plain or not target.startswith(f"{self.root}/"):
            raise PermissionError(errno.EPERM, f"this is no plain path below {self.root}", target)
        return target[len(str(self.root)) + 1 :]

    def _put(self, mount: int, target: str, *, read_only: bool) -> None:
        always = Restricting.NO_SETUID | Restricting.NO_DEVICES
        libc.restrict(mount, always | Restricting.READ_ONLY if read_only else always)
        with _opened(str(self.root)) as root:
            place = libc.open_beneath(root, self.relative(target), os.O_PATH, _PLAINLY)
        try:
            libc.place(mount, place)
        finally:
            os.close(place)

    def _take_off(self, parent: int, name: str, target: str) -> None:
        for _ in range(_MOST_LAYERS):
            if self.read().top(target) is None:
                return
            path = f"/proc/self/fd/{parent}/{name}"
            try:
                libc.unmount(path, Unmounting.NO_FOLLOW)
            except OSError as failure:
                if failure.errno != errno.EBUSY:
                    raise
                libc.unmount(path, Unmounting.NO_FOLLOW | Unmounting.DETACH)
        raise OSError(errno.EBUSY, f"more than {_MOST_LAYERS} mounts lie one upon another here", target)

    @contextmanager
    def _parent(self, target: str) -> Iterator[tuple[int, str]]:
        above, _, name = self.relative(target).rpartition("/")
        with _opened(str(self.root)) as root:
            parent = libc.open_beneath(root, above or ".", _FOLDER, _PLAINLY)
        try:
            yield parent, name
        finally:
            os.close(parent)


def _is_own(found: os.stat_result) -> bool:
    """Nobody else makes folders that nobody may enter."""
    return stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == _HIDDEN


@contextmanager
def _opened(folder: str) -> Iterator[int]:
    descriptor = os.open(folder, _FOLDER | os.O_NOFOLLOW)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
