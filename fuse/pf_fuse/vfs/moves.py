"""Folders that are being renamed: what touches one of them is done later.

Who would see half of one could take it for all, and what was written there would be replaced by what is still to come,
or would stay where nobody looks for it.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeVar

from pf_backends.errors import failure
from pf_fuse.arriving import after_all, once, settle
from pf_fuse.operations import Answer, Kernel
from pf_fuse.staging.renaming import Move

T = TypeVar("T")
Where = Callable[[], Sequence[str]]
"""Tells the paths at which something is to be done, which may be others once a folder is renamed."""

PATIENCE = 60.0
"""Seconds without a step after which whoever waits for what a process before has left is told so."""


@dataclass(frozen=True, slots=True)
class _Waiter:
    """Somebody who asked for something that is being renamed."""

    where: Where
    work: Callable[[], Answer[Any]]
    since: float
    whole: bool
    for_ever: bool
    left_only: bool
    answer: Future[Any] = field(default_factory=Future)


class Moves:
    """All that are under way. Work that has waited is asked for by the thread that asks the operations."""

    def __init__(self, left: Sequence[Move] = (), *, clock: Callable[[], float] = time.monotonic) -> None:
        """`left`: begun by processes before."""
        self.pending = bool(left)
        self._left = left
        self._own: Sequence[Move] = ()
        self._clock = clock
        self._waiters: list[_Waiter] = []
        self._stepped = clock()
        """When something of a folder that was left was renamed last."""
        self._guard = Lock()
        self._bell: int | None = None
        """Rings for the thread that asks the operations, as long as it may have to."""
        self._kernel: Kernel | None = None

    def begin(self, kernel: Kernel) -> None:
        with self._guard:
            self._kernel = kernel
            if self.pending:
                self._listen()

    def apart(self, path: str) -> bool:
        """True if nothing renames what is at the path."""
        return not _touches([path], [*self._left, *self._own])

    def after(
        self,
        where: Where,
        work: Callable[[], Answer[T]],
        *,
        whole: bool = False,
        for_ever: bool = False,
        left_only: bool = False,
    ) -> Answer[T]:
        """What the work answers, at once unless something at one of the paths is being renamed.

        `whole`: nothing below the paths may be being renamed either. `for_ever`: whoever asked is not told if it takes
        too long. `left_only`: it waits for what processes before have left, and for nothing else.
        """
        waiter = _Waiter(where, work, self._clock(), whole, for_ever, left_only)
        with self._guard:
            if self._holds(waiter):
                self._waiters.append(waiter)
                return waiter.answer
        return work()

    def moving(
        self, move: Move, work: Callable[[], Answer[T]], under_way: Callable[[], Sequence[Future[Any]]]
    ) -> Answer[T]:
        """What the work answers, which renames a folder: from now on others wait until it has, or has failed.

        It begins when all is done that is under way there by then.
        """
        with self._guard:
            # Before anybody waits for it: it may fail.
            self._listen()
            self._own = (*self._own, move)
            self.pending = True
        try:
            moved = after_all(under_way(), work)
        except BaseException:
            self._end(move)
            raise

        def ended() -> T:
            self._end(move)
            return moved.result()

        return once(moved, ended)

    def finished(self, move: Move) -> None:
        """Nobody goes on with what was left."""
        with self._guard:
            self._left = [each for each in self._left if each is not move]
            self._changed()

    def step(self) -> None:
        """Something that was left was renamed."""
        self._stepped = self._clock()

    def ring(self) -> None:
        """Somebody may wait no more, or has waited too long."""
        with self._guard:
            self._ring()

    def late(self, since: float) -> bool:
        return self._clock() - max(since, self._stepped) > PATIENCE

    def _end(self, move: Move) -> None:
        with self._guard:
            self._own = [each for each in self._own if each is not move]
            self._changed()

    def _changed(self) -> None:
        self.pending = bool(self._left or self._own)
        self._ring()

    def _ring(self) -> None:
        if self._bell is not None:
            os.eventfd_write(self._bell, 1)

    def _listen(self) -> None:
        if self._bell is None and self._kernel:
            bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
            try:
                self._kernel.watch(bell, self._hear)
            except OSError:
                os.close(bell)
                raise
            self._bell = bell

    def _hear(self) -> None:
        """Somebody rang."""
        with self._guard:
            if self._bell is None:
                return
            with suppress(BlockingIOError):
                os.eventfd_read(self._bell)
            waiters, self._waiters = self._waiters, []
        still = [waiter for waiter in waiters if not self._let_go(waiter)]
        with self._guard:
            self._waiters[:0] = still
            if not (self.pending or self._waiters):
                self._stop_listening()

    def _stop_listening(self) -> None:
        if self._bell is not None and self._kernel:
            self._kernel.unwatch(self._bell)
            os.close(self._bell)
            self._bell = None

    def _let_go(self, waiter: _Waiter) -> bool:
        """False if it has to wait on."""
        with self._guard:
            held = self._holds(waiter)
        if not held:
            settle(waiter.answer, waiter.work)
        elif self._is_late(waiter):
            waiter.answer.set_exception(late(next(iter(waiter.where()), "")))
        else:
            return False
        return True

    def _holds(self, waiter: _Waiter) -> bool:
        moves = self._left if waiter.left_only else [*self._left, *self._own]
        return _touches(waiter.where(), moves, whole=waiter.whole)

    def _is_late(self, waiter: _Waiter) -> bool:
        """Who waits for what this process renames waits as long as whoever has it renamed."""
        if waiter.for_ever or not self.late(waiter.since):
            return False
        return _touches(waiter.where(), self._left, whole=waiter.whole)


def touches(path: str, move: Move) -> bool:
    """True if what is at the path is being renamed, or comes to where something is."""
    return _within(path, move.source) or _within(path, move.target)


def late(path: str) -> OSError:
    return failure(errno.ETIMEDOUT, path, "its folder is still being renamed, and the store does not answer")


def _touches(paths: Sequence[str], moves: Sequence[Move], *, whole: bool = False) -> bool:
    sides = [side for move in moves for side in (move.source, move.target)]
    pairs = [(path, side) for path in paths for side in sides]
    return any(_within(path, side) or (whole and _within(side, path)) for path, side in pairs)


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/") or not folder
