"""Folders whose renaming a process before has begun: they are renamed wholly while all else is served."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pf_fuse.staging.refusals import is_refusal
from pf_fuse.staging.renaming import Move
from pf_fuse.threads import started
from pf_fuse.vfs.moves import Moves, late

logger = logging.getLogger(__name__)

Finish = Callable[[Path, Move, Callable[[], None]], None]
"""Given a note, what it says, and whom to tell of each step. Blocks."""

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 15.0
"""Seconds until it is tried again."""
_LOOK = 0.5
"""Seconds between two looks whether somebody has waited too long."""


class LeftMoves:
    """All that were left."""

    def __init__(
        self,
        left: Sequence[tuple[Path, Move]],
        moves: Moves,
        finish: Finish,
        done: Callable[[], None] = lambda: None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`moves`: among which they are."""
        self._left = left
        self._moves = moves
        self._finish = finish
        self._when_done = done
        self._clock = clock
        self._done = threading.Event()
        """Nothing is pending, or nobody goes on with it."""
        self._ending = threading.Event()
        self._mover: threading.Thread | None = None

    def begin(self) -> None:
        started("left-waiters", self._remind)
        self._mover = started("left-moves", self._run)

    def end(self) -> None:
        """What cannot be renamed now is left for the next process. Blocks."""
        self._ending.set()
        if self._mover:
            self._mover.join()

    def wait(self) -> None:
        """Returns when nothing is pending; ETIMEDOUT if nothing goes on. Blocks."""
        begun = self._clock()
        while not self._done.wait(_LOOK):
            if self._moves.late(begun):
                raise late("")

    def _remind(self) -> None:
        while not self._done.wait(_LOOK):
            self._moves.ring()

    def _run(self) -> None:
        left = len(self._left)
        try:
            for note, move in self._left:
                if not self._ending.is_set() and self._renamed(note, move):
                    left -= 1
                    self._moves.finished(move)
            if not left:
                self._when_done()
        finally:
            self._done.set()

    def _renamed(self, note: Path, move: Move) -> bool:
        """False if it is left for the next process."""
        pause = _FIRST_PAUSE
        while True:
            try:
                self._finish(note, move, self._moves.step)
            except OSError as error:
                if is_refusal(error):
                    logger.exception("a folder stays renamed in part", extra=_told(move, error))
                    return True
                logger.warning("a folder is not renamed yet", extra=_told(move, error))
            except Exception as fault:
                # Who waits for the folder must not wait for ever.
                logger.exception("a folder is not renamed yet", extra=_told(move, fault))
            else:
                return True
            if self._ending.wait(pause):
                return False
            pause = min(2 * pause, _LONGEST_PAUSE)


def _told(move: Move, error: Exception) -> dict[str, str]:
    return {"from": move.source, "to": move.target, "why": str(error)}
