"""Files of this machine, many at a time, in threads."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from threading import Lock
from typing import TypeVar

from paddleflow.problems import FolderUnusable, Overloaded, Problem
from pf_fs.files.beneath import found, make_folder, told, top
from pf_fs.files.budget import Budget, Spent
from pf_fs.files.digesting import digest
from pf_fs.files.domain import Digest, DigestMode, Done, Fault, Pending, Piece, Range, Stat
from pf_fs.files.looking import look, read
from pf_fs.files.remembering import Memory
from pf_fs.files.removing import remove
from pf_fs.paths import sub_path
from pf_fs.ports import Folder
from pf_kit.clock import Clock
from pf_kit.fields import shown

THREADS = 16
"""That work for all callers."""
THREADS_OF_DISK = 4
"""That work on one disk at once: one that hangs, as a network may, holds no more of them."""

W = TypeVar("W")
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long things may take, in seconds. Wait and answer together are less than a call may last."""

    work: float = 10.0
    """One call reads, makes or removes so long before it leaves the rest for the next."""
    wait: float = 8.0
    """A call waits so long for others on the same disk before it is sent away."""
    answer: float = 20.0
    """A disk may take so long."""


class MachineFiles:
    """The threads in which all folders are worked on. The paths it is given have no violations."""

    def __init__(self, memory: Memory, clock: Clock, patience: Patience) -> None:
        self.memory = memory
        self._clock = clock
        self._patience = patience
        self._threads = ThreadPoolExecutor(THREADS, "files")
        self._free: dict[int, asyncio.Semaphore] = {}
        """By device."""
        self._making: defaultdict[int, Lock] = defaultdict(Lock)
        """By device. A folder has its permissions a moment after it is there; meanwhile nobody may give them on."""

    def at(self, folder: Folder) -> FolderFiles:
        """The files of a folder."""
        return FolderFiles(self, folder)

    def making(self, folder: Folder) -> Lock:
        """What is held while a folder is made on the disk of this one."""
        return self._making[folder.device]

    async def worked(
        self, folder: Folder, paths: Sequence[str], work: Callable[[int, str, Budget], R]
    ) -> Sequence[R | Pending | Fault]:
        """What became of each path, as far as one call goes."""
        budget = Budget(self._patience.work, self._clock.monotonic)

        def within(handle: int) -> Sequence[R | Pending | Fault]:
            budget.begin()
            return each_of(paths, lambda path: unless_spent(lambda: work(handle, path, budget)))

        try:
            return await self.answered(folder, within)
        finally:
            budget.give_up()

    async def answered(self, folder: Folder, work: Callable[[int], T]) -> T:
        """What is found in an open folder."""

        def in_thread() -> T:
            with top(folder) as handle:
                return work(handle)

        working = await self._begun(folder.device, in_thread)
        try:
            async with asyncio.timeout(self._patience.answer):
                return await working
        except TimeoutError:
            late = f"{shown(str(folder.path))} did not answer within {self._patience.answer:g} s"
            raise FolderUnusable(f"{late}; is its disk or network there?") from None
        except OSError as error:
            raise FolderUnusable(f"{shown(str(folder.path))} cannot be used: {error.strerror}") from None

    async def _begun(self, disk: int, work: Callable[[], T]) -> asyncio.Future[T]:
        """The work, as soon as a thread is free for it. Raises Overloaded if none is."""
        free = self._free.setdefault(disk, asyncio.Semaphore(THREADS_OF_DISK))
        try:
            async with asyncio.timeout(self._patience.wait):
                await free.acquire()
        except TimeoutError:
            raise Overloaded("others keep the disk busy; try again", retry_after=1.0) from None
        thread = self._threads.submit(work)
        loop = asyncio.get_running_loop()

        def release(_: object) -> None:
            # Whoever waited, and the service as well, may be gone long before the thread is.
            if not loop.is_closed():
                loop.call_soon_threadsafe(free.release)

        thread.add_done_callback(release)
        return asyncio.wrap_future(thread)


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """Fulfils `FilesAt`."""

    machine: MachineFiles
    folder: Folder

    async def stat(self, paths: Sequence[str]) -> Sequence[Stat | Fault]:
        return await self.machine.answered(
            self.folder, lambda handle: each_of(paths, lambda path: look(handle, sub_path(path)))
        )

    async def read(self, ranges: Sequence[Range]) -> Sequence[Piece | Fault]:
        return await self.machine.answered(self.folder, lambda handle: each_of(ranges, partial(read, handle)))

    async def digest(self, paths: Sequence[str], mode: DigestMode) -> Sequence[Digest | Pending | Fault]:
        def work(handle: int, path: str, budget: Budget) -> Digest:
            budget.check()
            return Digest(digest(handle, sub_path(path), mode, self.machine.memory, budget).hex())

        return await self.machine.worked(self.folder, paths, work)

    async def make(self, paths: Sequence[str]) -> Sequence[Done | Pending | Fault]:
        return await self.machine.worked(self.folder, paths, partial(_make, self.machine.making(self.folder)))

    async def remove(self, paths: Sequence[str]) -> Sequence[Done | Pending | Fault]:
        return await self.machine.worked(self.folder, paths, _remove)

    async def prepare(self, paths: Sequence[str]) -> Sequence[Done | Pending | Fault]:
        return await self.machine.worked(self.folder, paths, partial(_prepare, self.machine.making(self.folder)))


def each_of(wanted: Sequence[W], work: Callable[[W], R]) -> Sequence[R | Fault]:
    """What became of each; what is wrong with one does not keep the others back."""
    results = list[R | Fault]()
    for each in wanted:
        try:
            results.append(work(each))
        except Problem as problem:
            results.append(Fault(problem))
    return results


def unless_spent(work: Callable[[], R]) -> R | Pending:
    """What the work gives, or that it goes on with the next call."""
    try:
        return work()
    except Spent:
        return Pending()


def _make(making: Lock, handle: int, path: str, budget: Budget) -> Done:
    budget.check()
    wanted = sub_path(path)
    with making, found(handle, wanted, on_missing=make_folder), told(wanted):
        return Done()


def _remove(handle: int, path: str, budget: Budget) -> Done:
    budget.check()
    remove(handle, sub_path(path), budget)
    return Done()


def _prepare(making: Lock, handle: int, path: str, budget: Budget) -> Done:
    _make(making, handle, str(PurePosixPath(path).parent), budget)
    return _remove(handle, path, budget)
