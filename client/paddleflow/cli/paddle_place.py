"""The folder of a filesystem, as it is on this machine: there the command ``paddle`` puts packages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from paddleflow.models.filesystems import FilesystemKind
from paddleflow.problems import FailedPrecondition, InvalidArgument, Violation

if TYPE_CHECKING:
    from paddleflow.sync import PaddleFlow

# Jobs may run under accounts of their own, which have to write into it, as into /tmp.
_SHARED = 0o1777


@dataclass(frozen=True, slots=True)
class Place:
    """A filesystem that is a folder of this machine."""

    filesystem: str
    """As ``owner/name``."""
    folder: Path

    def inner(self, option: str, path: str) -> str:
        """A path in the filesystem as mounts have it: without the first `/`, and not out of it."""
        parts = PurePosixPath(path.lstrip("/"))
        if ".." in parts.parts or not (self.folder / parts).resolve().is_relative_to(self.folder):
            raise InvalidArgument.of(Violation(option, f"{path!r} leads out of the filesystem {self.filesystem}"))
        return "" if parts == PurePosixPath() else str(parts)

    def existing(self, option: str, path: str) -> str:
        """As `inner`, of a folder that is there."""
        inner = self.inner(option, path)
        if not (self.folder / inner).is_dir():
            why = f"{path!r} is no folder of the filesystem {self.filesystem}, which is {self.folder}"
            raise InvalidArgument.of(Violation(option, why))
        return inner

    def make(self, inner: str) -> None:
        """Sees that this folder of it is there; makes it so that jobs can write into it."""
        folder = self.folder / inner
        if folder.is_dir():
            return
        try:
            folder.mkdir(parents=True)
            folder.chmod(_SHARED)
        except OSError as error:
            raise FailedPrecondition(f"{folder} cannot be made: {error.strerror}") from error


def find_place(paddleflow: PaddleFlow, name: str) -> Place:
    """Where packages are stored; raises a problem that says what to do if nothing can be stored there from here."""
    if not name:
        raise InvalidArgument.of(Violation("fs", _unnamed(paddleflow)))
    owner, _, short = name.rpartition("/")
    found = paddleflow.filesystems.get(short, owner=owner)
    folder = Path(found.url.partition("://")[2])
    if found.kind is not FilesystemKind.LOCAL:
        raise FailedPrecondition(
            f"packages can only be stored in filesystems local:///… so far, and fs[{name}] is {found.url}; name another"
        )
    if not folder.is_dir():
        raise FailedPrecondition(
            f"fs[{name}] is the folder {folder}, which is not on this machine; run this where it is, or mount it here"
        )
    return Place(f"{found.owner}/{found.name}", folder.resolve())


def _unnamed(paddleflow: PaddleFlow) -> str:
    known = [found.name for found in paddleflow.filesystems.list() if found.kind is FilesystemKind.LOCAL]
    there = f"there are {', '.join(known[:10])}" if known else "there is none: `paddleflow fs create` makes one"
    where = "`fs = NAME` in the section [package] of the configuration"
    return f"say in which filesystem the package is to be stored, by --fs or by {where}; {there}"
