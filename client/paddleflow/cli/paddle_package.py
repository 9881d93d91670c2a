"""The package of a job: a folder with the files of a program, read, checked, and stored where jobs find it."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from paddleflow.problems import FailedPrecondition, InvalidArgument, Violation

LEFT_OUT = frozenset({"__pycache__", ".git"})
"""Folders of a package that no program needs."""
REQUIREMENTS = PurePosixPath("requirements.txt")
PACKAGE_PATH = "package-path"

_PART = 4 * 2**20
"""Bytes that are copied at once."""
# Jobs may run under accounts of their own, which have to read it.
_FOLDER, _FILE, _PROGRAM = 0o755, 0o644, 0o755


@dataclass(frozen=True, slots=True)
class PackageFile:
    """A file, by its path in the package."""

    path: PurePosixPath
    size: int
    executable: bool


@dataclass(frozen=True, slots=True)
class Package:
    """The files of a program."""

    folder: Path
    folders: tuple[PurePosixPath, ...]
    """Each after the one that it lies in."""
    files: tuple[PackageFile, ...]
    links: tuple[tuple[PurePosixPath, str], ...]
    """Paths, and what they lead to, seen from where they are."""

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def wants_requirements(self) -> bool:
        return any(file.path == REQUIREMENTS for file in self.files)

    def has(self, path: PurePosixPath) -> bool:
        return any(file.path == path for file in self.files) or any(link == path for link, _ in self.links)


def read_package(text: str) -> Package:
    """The package in this folder; raises InvalidArgument if there is something in it that cannot be stored."""
    folder = Path(text).resolve()
    if not folder.is_dir():
        raise _wrong(f"{text} is no folder" if folder.exists() else f"there is no folder {text}")
    folders, files, links = list[PurePosixPath](), list[PackageFile](), list[tuple[PurePosixPath, str]]()
    for entry in _entries(folder):
        path = PurePosixPath(Path(entry.path).relative_to(folder))
        if entry.is_symlink():
            links.append((path, _destination(folder, Path(entry.path))))
        elif entry.is_dir():
            folders.append(path)
        else:
            files.append(_file(path, entry.stat(follow_symlinks=False)))
    if not files:
        raise _wrong(f"{text} has no files")
    return Package(folder, tuple(folders), tuple(files), tuple(links))


def store(package: Package, target: Path, tell: Callable[[int], None]) -> None:
    """Copies the package, and tells how many bytes more are done. What has the name in the end is whole.

    Raises FailedPrecondition if it cannot be stored; then nothing of it is left.
    """
    part = target.with_name(f".{target.name}.part")
    try:
        _make(part)
    except OSError as error:
        raise _unstorable(target.parent, error) from error
    try:
        for folder in package.folders:
            _make(part / folder)
        for file in package.files:
            _copy(package.folder / file.path, part / file.path, file, tell)
        for path, leads_to in package.links:
            (part / path).symlink_to(leads_to)
        part.rename(target)
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        raise _unstorable(target.parent, error) from error
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        found = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise _wrong(f"{folder} cannot be read: {error.strerror}") from error
    for entry in found:
        is_folder = entry.is_dir(follow_symlinks=False)
        if is_folder and entry.name in LEFT_OUT:
            continue
        yield entry
        if is_folder:
            yield from _entries(Path(entry.path))


def _file(path: PurePosixPath, status: os.stat_result) -> PackageFile:
    if not stat.S_ISREG(status.st_mode):
        raise _wrong(f"{path} is neither a file nor a folder")
    return PackageFile(path, status.st_size, bool(status.st_mode & stat.S_IXUSR))


def _destination(folder: Path, link: Path) -> str:
    """What a link leads to, so that it leads there also where the package is stored."""
    end = Path(os.path.realpath(link))
    name = link.relative_to(folder)
    if not end.is_relative_to(folder):
        raise _wrong(f"{name} is a link that leads out of the package, to {end}; put the file there itself")
    if not end.exists():
        raise _wrong(f"{name} is a link that leads nowhere")
    if LEFT_OUT & {*end.relative_to(folder).parts}:
        raise _wrong(f"{name} is a link to what is left out of packages: {', '.join(sorted(LEFT_OUT))}")
    return os.path.relpath(end, os.path.realpath(link.parent))


def _make(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(_FOLDER)


def _copy(source: Path, target: Path, file: PackageFile, tell: Callable[[int], None]) -> None:
    # A link that has taken its place meanwhile is not followed.
    with (
        os.fdopen(os.open(source, os.O_RDONLY | os.O_NOFOLLOW), "rb") as reading,
        target.open("xb") as writing,
    ):
        for size in _copied(reading, writing):
            tell(size)
    target.chmod(_PROGRAM if file.executable else _FILE)


def _copied(reading: BinaryIO, writing: BinaryIO) -> Iterator[int]:
    while part := reading.read(_PART):
        writing.write(part)
        yield len(part)


def _wrong(description: str) -> InvalidArgument:
    return InvalidArgument.of(Violation(PACKAGE_PATH, description))


def _unstorable(folder: Path, error: OSError) -> FailedPrecondition:
    what = error.filename or folder
    return FailedPrecondition(f"the package cannot be stored in {folder}: {what}: {error.strerror}")
