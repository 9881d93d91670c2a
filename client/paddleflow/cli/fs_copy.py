"""``paddleflow fs cp``: files between this machine and filesystems."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from paddleflow.cli.fs_files import RECURSIVE
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.config import Config
from paddleflow.models.files import FileInfo, FileKind
from paddleflow.problems import FileNotFound, FileUnusable
from paddleflow.transfers.notes import Notes
from paddleflow.transfers.places import LocalSource, Remote, RemoteSource, Source, remote_of

if TYPE_CHECKING:
    from paddleflow.sync.files import Files
    from paddleflow.transfers.moving import Progress

AT_ONCE = 4
"""Files on their way."""


@dataclass(frozen=True, slots=True)
class Leg:
    """One file that is to be copied."""

    source: Path | Remote
    target: Path | Remote
    size: int
    info: FileInfo | None = None
    """What is known of it if it comes from a filesystem."""


@click.command("cp", cls=Verb)
@click.argument("source")
@click.argument("target")
@RECURSIVE
@click.option("-n", "--no-clobber", is_flag=True, help="Fail where there is a file already in a filesystem.")
@pass_invocation
def cp(invocation: Invocation, source: str, target: str, recursive: bool, no_clobber: bool) -> None:
    """Copy a file, or with -r a folder, between this machine and filesystems.

    What lies in a filesystem is written FSNAME:PATH; all else is of this machine (./a:b for a name with a colon). Large
    files go in pieces, several at once; made again after it broke off, the command goes on where it was.
    """
    config = invocation.configuration()
    files = invocation.paddleflow_of(config).files
    with _local_failures():
        legs = list(_Plan(files, recursive=recursive).legs(source, target))
        copier = _Copier(files, config, replace=not no_clobber)
        with _progress(sum(leg.size for leg in legs)) as told, ThreadPoolExecutor(AT_ONCE) as pool:
            for done in [pool.submit(copier.copy, leg, told) for leg in legs]:
                done.result()


class _Plan:
    """Finds out what goes where."""

    def __init__(self, files: Files, *, recursive: bool) -> None:
        self._files = files
        self._recursive = recursive

    def legs(self, source: str, target: str) -> Iterator[Leg]:
        far, near = remote_of(source), remote_of(target)
        if far is None and near is None:
            raise click.UsageError("One of the two must lie in a filesystem, as in data:folder/file.")
        if far is None:
            yield from self._from_here(Path(source), near or Remote("", ""), inside=target.endswith((":", "/")))
        else:
            yield from self._from_there(far, near or Path(target), inside=target.endswith((":", "/")))

    def _from_here(self, source: Path, target: Remote, *, inside: bool) -> Iterator[Leg]:
        if inside or self._is_folder(target):
            target = target.below(source.absolute().name)
        if not source.is_dir():
            yield Leg(source, target, source.stat().st_size)
            return
        self._require_recursive(str(source))
        self._files.make_folder(target.name, target.path, owner=target.owner)
        for each in sorted(source.rglob("*")):
            inner = target.below(each.relative_to(source).as_posix())
            if each.is_dir() and not each.is_symlink():
                self._files.make_folder(inner.name, inner.path, owner=inner.owner)
            elif each.is_file():
                yield Leg(each, inner, each.stat().st_size)

    def _from_there(self, source: Remote, target: Path | Remote, *, inside: bool) -> Iterator[Leg]:
        info = self._files.stat(source.name, source.path, owner=source.owner)
        if inside or self._is_folder(target):
            target = target.below(source.last) if isinstance(target, Remote) else target / source.last
        if info.kind is not FileKind.FOLDER:
            yield Leg(source, target, info.size, info)
            return
        self._require_recursive(str(source))
        self._make(target)
        for each in self._files.list(source.name, source.path, owner=source.owner, recursive=True):
            yield from self._inner(source, target, each)

    def _inner(self, source: Remote, target: Path | Remote, each: FileInfo) -> Iterator[Leg]:
        path = each.path.removeprefix(f"{source.path}/") if source.path else each.path
        place = target.below(path) if isinstance(target, Remote) else _beneath(target, path)
        if each.kind is FileKind.FOLDER:
            self._make(place)
        elif each.kind is FileKind.REGULAR:
            self._make(_above(place))
            yield Leg(Remote(source.name, each.path, source.owner), place, each.size, each)

    def _make(self, folder: Path | Remote) -> None:
        if isinstance(folder, Path):
            folder.mkdir(parents=True, exist_ok=True)
        elif folder.path:
            self._files.make_folder(folder.name, folder.path, owner=folder.owner)

    def _is_folder(self, target: Path | Remote) -> bool:
        if isinstance(target, Path):
            return target.is_dir()
        try:
            return self._files.stat(target.name, target.path, owner=target.owner).kind is FileKind.FOLDER
        except FileNotFound:
            return False

    def _require_recursive(self, source: str) -> None:
        if not self._recursive:
            raise click.UsageError(f"{source} is a folder; copy it with -r.")


class _Copier:
    """Copies one file after the other."""

    def __init__(self, files: Files, config: Config, *, replace: bool) -> None:
        self._files = files
        self._server = config.address
        self._notes = config.path.parent / "uploads"
        self._replace = replace

    def copy(self, leg: Leg, told: Progress) -> None:
        from paddleflow.transfers.moving import fetch, send  # noqa: PLC0415 -- loads gRPC

        if isinstance(leg.target, Path):
            if isinstance(leg.source, Remote) and leg.info is not None:
                fetch(self._files, leg.source, leg.info, leg.target, told)
            return
        if self._copied_there(leg, leg.target):
            told(leg.size)
            return
        notes = Notes(self._notes, f"{self._server}\0{leg.target}")
        send(self._files, self._source(leg), leg.target, notes, told, replace=self._replace)

    def _source(self, leg: Leg) -> Source:
        if isinstance(leg.source, Remote) and leg.info is not None:
            return RemoteSource(self._files, leg.source, leg.info)
        return LocalSource(Path(str(leg.source)))

    def _copied_there(self, leg: Leg, target: Remote) -> bool:
        """True if the place copied the file by itself."""
        source = leg.source
        if not isinstance(source, Remote) or (source.name, source.owner) != (target.name, target.owner):
            return False
        try:
            self._files.copy(source.name, source.path, target.path, owner=source.owner, replace=self._replace)
        except FileUnusable:
            return False
        return True


def _above(place: Path | Remote) -> Path | Remote:
    """The folder that something lies in."""
    if isinstance(place, Path):
        return place.parent
    return Remote(place.name, place.path.rpartition("/")[0], place.owner)


def _beneath(folder: Path, path: str) -> Path:
    """A file in a folder of this machine, wherever its name would lead: a filesystem may hold any names."""
    found = folder / path
    if ".." in found.relative_to(folder).parts or "\0" in path:
        raise click.ClickException(f"{path!r} cannot be the name of a file here")
    return found


@contextmanager
def _local_failures() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from None


@contextmanager
def _progress(total: int) -> Iterator[Progress]:
    """Shows on a terminal how far it is."""
    if not sys.stderr.isatty():
        yield lambda _count: None
        return
    from rich.console import Console  # noqa: PLC0415 -- few commands need it
    from rich.progress import (  # noqa: PLC0415 -- as above
        BarColumn,
        DownloadColumn,
        Progress,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total)
        yield lambda count: bar.advance(task, count)
