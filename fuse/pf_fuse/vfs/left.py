"""Folders whose renaming a process before has begun: they are renamed wholly while all else is served.

Whatever touches one of them meanwhile waits. Who would see half of it could take it for all, and what was written there
would be replaced by what is still to come.
"""

from __future__ import annotations

import errno
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pf_backends.errors import Unreachable, failure
from pf_fuse.arriving import settle
from pf_fuse.operations import Answer, Kernel
from pf_fuse.staging.renaming import Move

logger = logging.getLogger(__name__)

T = TypeVar("T")
Finish = Callable[[Path, Move, Callable[[], None]], None]
"""Given a note, what it says, and whom to tell of each step. Blocks."""

PATIENCE = 60.0
"""Seconds without a step after which whoever waits is told so."""
_LONGEST_PAUSE = 15.0
_LOOK = 0.5
"""Seconds between two looks whether somebody has waited too long."""


@dataclass(frozen=True, slots=True)
class _Waiter:
    """Somebody who asked for something that is being renamed."""

    paths: Sequence[str]
    since: float
    answer: Future[Any]
    work: Callable[[], Answer[Any]]
    whole: bool
    for_ever: bool


class LeftMoves:
    """All that were left. `after` and whoever waits for it are of the thread that asks the operations."""

    def __init__(
        self,
        left: Sequence[tuple[Path, Move]],
        finish: Finish,
        done: Callable[[], None] = lambda: None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._left = left
        self._finish = finish
        self._when_done = done
        self._clock = clock
        self._pending: Sequence[Move] = [move for _, move in left]
        self._waiters: list[_Waiter] = []
        self._stepped = clock()
        """When something of a folder was renamed last."""
        self._done = threading.Event()
        """Nothing is pending, or nobody goes on with it."""
        self._ending = threading.Event()
        self._mover = threading.Thread(target=self._run, name="left-moves", daemon=True)
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._kernel: Kernel | None = None

    def begin(self, kernel: Kernel) -> None:
        self._kernel = kernel
        kernel.watch(self._bell, self._hear)
        self._mover.start()
        threading.Thread(target=self._remind, name="left-waiters", daemon=True).start()

    def end(self) -> None:
        """What cannot be renamed now is left for the next process. Blocks."""
        self._ending.set()
        self._mover.join()

    def wait(self) -> None:
        """Returns when nothing is pending; ETIMEDOUT if nothing goes on. Blocks."""
        begun = self._clock()
        while not self._done.wait(_LOOK):
            if self._late(begun):
                raise _late("")

    @property
    def pending(self) -> bool:
        return bool(self._pending)

    def apart(self, path: str) -> bool:
        """True if nothing renames what is at the path."""
        return not self._touched([path], whole=False)

    def after(
        self, paths: Sequence[str], work: Callable[[], Answer[T]], *, whole: bool = False, for_ever: bool = False
    ) -> Answer[T]:
        """What the work answers, at once unless one of the paths is being renamed.

        `whole`: nothing below the paths may be being renamed either. `for_ever`: whoever asked is not told if it takes
        too long.
        """
        if not self._touched(paths, whole=whole):
            return work()
        answer = Future[T]()
        self._waiters.append(_Waiter(paths, self._clock(), answer, work, whole, for_ever))
        return answer

    def _touched(self, paths: Sequence[str], *, whole: bool) -> bool:
        sides = [side for move in self._pending for side in (move.source, move.target)]
        pairs = [(path, side) for path in paths for side in sides]
        return any(_within(path, side) or (whole and _within(side, path)) for path, side in pairs)

    def _hear(self) -> None:
        """Somebody rang."""
        with suppress(BlockingIOError):
            os.eventfd_read(self._bell)
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not self._touched(waiter.paths, whole=waiter.whole):
                settle(waiter.answer, waiter.work)
            elif self._late(waiter.since) and not waiter.for_ever:
                waiter.answer.set_exception(_late(waiter.paths[0]))
            else:
                self._waiters.append(waiter)
        if self._done.is_set() and not self._waiters and self._kernel:
            self._kernel.unwatch(self._bell)
            self._kernel = None

    def _late(self, since: float) -> bool:
        return self._clock() - max(since, self._stepped) > PATIENCE

    def _remind(self) -> None:
        while not self._done.wait(_LOOK):
            self._ring()

    def _ring(self) -> None:
        os.eventfd_write(self._bell, 1)

    def _run(self) -> None:
        try:
            for note, move in self._left:
                if not self._ending.is_set() and self._renamed(note, move):
                    self._pending = [each for each in self._pending if each is not move]
                    self._ring()
            if not self._pending:
                self._when_done()
        finally:
            self._done.set()
            self._ring()

    def _renamed(self, note: Path, move: Move) -> bool:
        """False if it is left for the next process."""
        pause = 1.0
        while True:
            try:
                self._finish(note, move, self._step)
            except Unreachable as error:
                logger.warning("a folder is not renamed yet", extra=_told(move, error))
                if self._ending.wait(pause):
                    return False
                pause = min(2 * pause, _LONGEST_PAUSE)
            except OSError as error:
                logger.exception("a folder stays renamed in part", extra=_told(move, error))
                return True
            else:
                return True

    def _step(self) -> None:
        self._stepped = self._clock()


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/") or not folder


def _late(path: str) -> OSError:
    return failure(errno.ETIMEDOUT, path, "its folder is still being renamed, and the store does not answer")


def _told(move: Move, error: OSError) -> dict[str, str]:
    return {"from": move.source, "to": move.target, "why": str(error)}
