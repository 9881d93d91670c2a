"""Programs that got a signal while they wait for an answer: only those that it ends are told that there is none.

A program on a local disk never sees EINTR from `stat` or `read`; here it would after each signal that it handles, and
after it was stopped and goes on. The kernel says once that there was a signal, and not of what kind.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

from pf_fuse.threads import started_if_room

_LOOK = 0.1
"""Seconds between two looks whether a later signal has ended a program."""
_HARMLESS = {
    signal.SIGCHLD,
    signal.SIGCONT,
    signal.SIGSTOP,
    signal.SIGTSTP,
    signal.SIGTTIN,
    signal.SIGTTOU,
    signal.SIGURG,
    signal.SIGWINCH,
}
"""They end no program that does nothing about them."""


class Signalled:
    """Requests whose programs got a signal, until they are answered or the program ends."""

    def __init__(self, waits: Callable[[int], bool], give_up: Callable[[int], None]) -> None:
        """`waits` says whether a request has no answer yet."""
        self._waits = waits
        self._give_up = give_up
        self._lock = threading.Lock()
        self._threads: dict[int, int] = {}
        """By the numbers of the requests: who waits."""
        self._watched = False

    def note(self, unique: int, thread: int) -> None:
        if is_dying(thread):
            self._give_up(unique)
            return
        with self._lock:
            self._threads[unique] = thread
            if not self._watched:
                # The thread takes this lock before it looks. The next signal tries again.
                self._watched = started_if_room("fuse-signalled", self._watch) is not None

    def _watch(self) -> None:
        while threads := self._left():
            for unique, thread in threads.items():
                if is_dying(thread):
                    self._give_up(unique)
            time.sleep(_LOOK)

    def _left(self) -> dict[int, int]:
        with self._lock:
            self._threads = {unique: thread for unique, thread in self._threads.items() if self._waits(unique)}
            self._watched = bool(self._threads)
            return self._threads.copy()


def is_dying(thread: int) -> bool:
    """A signal waits for it that ends it. True if it is not seen from here either: nobody would tell when it is."""
    try:
        # Its name is cut off after 15 bytes, maybe amid a character.
        lines = Path(f"/proc/{thread}/status").read_bytes().splitlines()
    except OSError:
        return True
    fields = dict(line.partition(b":")[::2] for line in lines)
    pending, shared, blocked, ignored, caught = (
        int(fields[name], 16) for name in (b"SigPnd", b"ShdPnd", b"SigBlk", b"SigIgn", b"SigCgt")
    )
    fatal = (pending | shared) & ~(blocked | ignored | caught)
    return any(fatal >> (number - 1) & 1 for number in set(signal.Signals) - _HARMLESS)
