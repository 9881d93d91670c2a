"""Replies on their way to the kernel, from whichever thread has the answer."""

from __future__ import annotations

import errno
import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from pf_fuse.kernel.accesses import Accesses
from pf_fuse.kernel.dying import Signalled
from pf_fuse.kernel.figures import Figures
from pf_fuse.kernel.wire import REPLY, Ask
from pf_fuse.operations import Bytes

T = TypeVar("T")
Encode = Callable[[T], Bytes]
Undo = Callable[["T | None"], None]
"""Takes an answer back that nobody waits for any more; None if there was none."""

log = logging.getLogger(__name__)

LARGEST_ERROR = 511
"""The kernel refuses replies with other numbers, and whoever asked would wait for ever."""
NOT_THERE = {errno.ENOENT, errno.ENODEV, errno.ENOTCONN, errno.ECONNABORTED}
"""The kernel does not wait for the reply, or there is no mount any more."""

INTERRUPTIBLE = {
    Ask.LOOKUP,
    Ask.GETATTR,
    Ask.READLINK,
    Ask.OPEN,
    Ask.READ,
    Ask.STATFS,
    Ask.GETXATTR,
    Ask.LISTXATTR,
    Ask.OPENDIR,
    Ask.READDIR,
    Ask.READDIRPLUS,
}
"""What changes nothing may be given up when the program ends: its answer is taken back when it comes."""


def error_number(failure: BaseException) -> int:
    """Some errors, such as those of name services, have numbers of their own."""
    number = failure.errno if isinstance(failure, OSError) else None
    return number if number is not None and 0 < number <= LARGEST_ERROR else errno.EIO


@dataclass(frozen=True, slots=True, eq=False)
class Parked(Generic[T]):
    """A request whose answer comes later."""

    unique: int
    ask: int
    begun: int
    future: Future[T]
    encode: Encode[T]
    undo: Undo[T] | None
    thread: int
    """Who waits."""
    words: str
    """The request for the log of accesses."""


class Replies:
    """Sends replies, and knows which requests have none yet."""

    def __init__(self, device: int, figures: Figures, accesses: Accesses) -> None:
        self._device = device
        self._figures = figures
        self._accesses = accesses
        self._parked: dict[int, Parked[object]] = {}
        self._signalled = Signalled(self._parked.__contains__, self._abandon)

    @property
    def parked(self) -> int:
        """How many wait."""
        return len(self._parked)

    def send(self, unique: int, body: Bytes, error: int = 0) -> None:
        try:
            if body:
                os.writev(self._device, (REPLY.pack(REPLY.size + len(body), 0, unique), body))
            else:
                os.write(self._device, REPLY.pack(REPLY.size, -error, unique))
        except OSError as failure:
            refused(failure, body)

    def park(self, parked: Parked[T]) -> None:
        self._parked[parked.unique] = parked  # type: ignore[assignment]  # of one dictionary, but each of its own type
        parked.future.add_done_callback(partial(self._done, parked))

    def interrupt(self, unique: int) -> None:
        """The program that waits for it has got a signal."""
        parked = self._parked.get(unique)
        if parked is None:
            return
        if parked.ask == Ask.SETLKW:
            parked.future.cancel()
        elif parked.ask in INTERRUPTIBLE:
            self._signalled.note(unique, parked.thread)

    def give_up(self) -> None:
        """Nobody waits any more."""
        for unique in list(self._parked):
            parked = self._parked.pop(unique, None)
            if parked is not None and parked.ask == Ask.SETLKW:
                parked.future.cancel()

    def _abandon(self, unique: int) -> None:
        """Whoever waits for it ends, and can do so at once."""
        parked = self._parked.pop(unique, None)
        if parked is not None:
            self._finish(parked, b"", errno.EINTR)

    def _done(self, parked: Parked[T], future: Future[T]) -> None:
        wanted = self._parked.pop(parked.unique, None) is not None
        try:
            answer = future.result()
            body, error = (parked.encode(answer), 0) if wanted else (b"", 0)
        except CancelledError:
            answer, body, error = None, b"", errno.EINTR
        except OSError as failure:
            answer, body, error = None, b"", error_number(failure)
        except Exception as fault:  # noqa: BLE001  # whoever asked must not wait for ever
            answer, body, error = None, b"", report(parked.ask, fault)
        if wanted:
            self._finish(parked, body, error)
        if parked.undo is not None and (error or not wanted):
            parked.undo(answer)

    def _finish(self, parked: Parked[T], body: Bytes, error: int) -> None:
        """Whoever asked finds the answer counted and written down."""
        took = time.perf_counter_ns() - parked.begun
        self._figures.count_late(parked.ask, took, error)
        if parked.words:
            self._accesses.note(parked.words, error, took)
        self.send(parked.unique, body, error)


def refused(failure: OSError, body: Bytes) -> None:
    """The kernel did not take a reply. It has told whoever asked itself if there is anything wrong with the reply."""
    if failure.errno not in NOT_THERE:
        log.error("the kernel did not take a reply of %d bytes", len(body), exc_info=failure)


def report(ask: int, fault: BaseException) -> int:
    """A fault of ours: whoever asked is told EIO, the log what it was."""
    log.error("request %s failed by a fault of the filesystem", Ask(ask).name, exc_info=fault)
    return errno.EIO
