"""Files behind servers, many at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from paddleflow.problems import FileNotFound, FileUnusable, FolderNotAllowed, PathEscapes
from pf_backends.entries import Kind
from pf_backends.errors import Unreachable
from pf_backends.paths import parent
from pf_backends.port import Backend
from pf_fs.files.beneath import require_shared
from pf_fs.files.budget import Budget, Spent
from pf_fs.files.disk import each_of, unless_spent
from pf_fs.files.domain import Digest, DigestMode, Done, Fault, FileKind, Pending, Piece, Range, Stat
from pf_fs.files.far_digesting import Digesting
from pf_fs.files.remembering import Memory
from pf_fs.manager import acting
from pf_fs.manager.places import OpenPlaces, key_of, problem_of, sources_of
from pf_fs.paths import sub_path
from pf_fs.service import Mount
from pf_kit.clock import Clock
from pf_kit.fields import shown

WORK_SECONDS = 10.0
"""One call reads or removes so long before it leaves the rest for the next."""
KINDS = {Kind.FILE: FileKind.REGULAR, Kind.FOLDER: FileKind.FOLDER, Kind.LINK: FileKind.LINK}
OWN = (FileNotFound, FileUnusable, PathEscapes, FolderNotAllowed)
"""Problems that are about one path."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime(9999, 12, 31, tzinfo=UTC)
R = TypeVar("R")


class FarFiles:
    """What all filesystems behind servers share."""

    def __init__(self, places: OpenPlaces, memory: Memory, clock: Clock) -> None:
        self.places = places
        self.memory = memory
        self.clock = clock

    def at(self, mount: Mount) -> MountFiles:
        """The files of a filesystem."""
        return MountFiles(self, mount)


@dataclass(frozen=True, slots=True)
class MountFiles:
    """Fulfils `FilesAt`. A server follows links as it likes: whoever has its secrets may have what they open."""

    far: FarFiles
    mount: Mount

    async def stat(self, paths: Sequence[str]) -> Sequence[Stat | Fault]:
        def look(backend: Backend) -> Sequence[Stat | Fault]:
            return each_of(paths, lambda path: self._told(path, lambda inner: _look(backend, inner)))

        return await self._answered(look)

    async def read(self, ranges: Sequence[Range]) -> Sequence[Piece | Fault]:
        def read(backend: Backend) -> Sequence[Piece | Fault]:
            return each_of(ranges, lambda each: self._told(each.path, lambda inner: _read(backend, inner, each)))

        return await self._answered(read)

    async def digest(self, paths: Sequence[str], mode: DigestMode) -> Sequence[Digest | Pending | Fault]:
        place = key_of(self.mount)

        def work(backend: Backend, path: str, budget: Budget) -> Digest:
            return Digest(Digesting(backend, place, path, mode, self.far.memory, budget).digest().hex())

        return await self._worked(paths, work)

    async def make(self, paths: Sequence[str]) -> Sequence[Done | Pending | Fault]:
        return await self._worked(paths, _make)

    async def remove(self, paths: Sequence[str]) -> Sequence[Done | Pending | Fault]:
        return await self._worked(paths, _remove)

    async def prepare(self, paths: Sequence[str]) -> Sequence[Done | Pending | Fault]:
        return await self._worked(paths, _prepare)

    async def _worked(
        self, paths: Sequence[str], work: Callable[[Backend, str, Budget], R]
    ) -> Sequence[R | Pending | Fault]:
        """What became of each path, as far as one call goes."""
        budget = Budget(WORK_SECONDS, self.far.clock.monotonic)

        def one(backend: Backend, path: str) -> R:
            budget.check()
            return self._told(path, lambda inner: work(backend, inner, budget))

        def within(backend: Backend) -> Sequence[R | Pending | Fault]:
            budget.begin()
            return each_of(paths, lambda path: unless_spent(lambda: one(backend, path)))

        try:
            return await self._answered(within)
        finally:
            budget.give_up()

    async def _answered(self, work: Callable[[Backend], R]) -> R:
        return await self.far.places.ask(self.mount, [""], work)

    def _told(self, path: str, work: Callable[[str], R]) -> R:
        """What is found at a path. Raises one of `OWN`, or what is wrong with the whole."""
        wanted = sub_path(path)
        for part in wanted.parts:
            require_shared(wanted, part)
        try:
            return work("/".join(wanted.parts))
        except Unreachable:
            raise
        except OSError as error:
            problem = problem_of(path, error, sources_of(self.mount))
            raise problem if isinstance(problem, OWN) else FileUnusable(problem.message) from None


def _look(backend: Backend, path: str) -> Stat:
    entry = backend.stat(path)
    time = min(_EPOCH + timedelta(microseconds=entry.modified // 1000), _LATEST)
    return Stat(KINDS[entry.kind], entry.size, time)


def _read(backend: Backend, path: str, wanted: Range) -> Piece:
    entry = backend.stat(path)
    if entry.kind is not Kind.FILE:
        raise FileUnusable(f"{shown(path)} is a {entry.kind}, and a file is wanted")
    length = max(0, min(wanted.length, entry.size - wanted.offset))
    data = acting.read(backend, path, wanted.offset, length, entry.version) if length else b""
    return Piece(data, entry.size)


def _make(backend: Backend, path: str, _: Budget) -> Done:
    acting.make_folder(backend, path)
    return Done()


def _remove(backend: Backend, path: str, budget: Budget) -> Done:
    with suppress(FileNotFoundError):
        if acting.remove(backend, path, recursive=True, spent=lambda: _is_spent(budget)).pending:
            raise Spent
    return Done()


def _prepare(backend: Backend, path: str, budget: Budget) -> Done:
    # In this order: where folders are no things of their own, one may go with the last thing in it.
    _remove(backend, path, budget)
    return _make(backend, parent(path), budget)


def _is_spent(budget: Budget) -> bool:
    try:
        budget.check()
    except Spent:
        return True
    return False
