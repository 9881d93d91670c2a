"""Writes the log of rounds. What goes wrong ends the segment, is told once, and is tried again with the next opening.

Lines are made where decisions are made, because a thread that works for long while others decide makes them wait for
Python's lock. Packing and writing do not need the lock, and have a thread: whoever decides never waits for a disk.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from time import monotonic, sleep

from pf_queue.admission.journal.encode import end_line, opening_lines, turn_line
from pf_queue.admission.journal.inputs import Opening, Turn
from pf_queue.admission.journal.segments import Keeping, Segment, forget

logger = logging.getLogger(__name__)

LOOK = 0.1
"""Seconds between two looks of the thread for something to write."""
FLUSH = 1.0
"""Seconds after which what was decided stands in the file."""
BACKLOG = 2**26
"""Bytes that wait to be written; if there are more, the disk is too slow."""
LARGE_SEGMENT = 4
"""Times the size that it should have: the next is begun then, however much there is to do."""
MOST_SEGMENT = 5
"""Times the size that it should have: a segment ends then, also if nobody begins the next."""
CLOSING = 5.0
"""Seconds in which the rest is written when the service stops."""


class End(StrEnum):
    """Why a segment ends."""

    LOADED = "the state was loaded anew"
    STOPPED = "the service stopped"
    BEHIND = "the disk was too slow"
    LARGE = "the segment was as large as it may be"


class Writer:
    """Fulfils `Log` with files."""

    def __init__(self, keeping: Keeping, lost: Callable[[], None]) -> None:
        """`lost` is called for each turn that is in no file."""
        self._keeping = keeping
        self._lost = lost
        self._items: deque[Opening | str | End] = deque()
        self._lock = threading.Lock()
        self._backlog = 0
        self._behind = False
        self._asked = self._begun = 0
        """Openings that were asked for, and those that the thread has come to."""
        self._segment: Segment | None = None
        self._flushed = monotonic()
        self._told = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rounds", daemon=True)
        self._thread.start()

    @property
    def fullness(self) -> float:
        """How large the segment is, as a part of what it should be."""
        segment = self._segment
        return segment.written / self._keeping.segment_bytes if segment and self._asked == self._begun else 0.0

    @property
    def silent(self) -> bool:
        """True if nothing is written until there is another opening."""
        return self._asked == self._begun and (self._segment is None or self._behind)

    @property
    def backlog(self) -> int:
        """Bytes that wait to be written."""
        return self._backlog

    def begin(self, opening: Opening) -> None:
        self._behind = False
        self._asked += 1
        self._items.append(opening)

    def put(self, turn: Turn) -> None:
        if self.silent or self._behind:
            self._lost()
            return
        line = turn_line(turn)
        with self._lock:
            self._backlog += len(line)
            self._behind = self._backlog > BACKLOG
        self._items.append(line)
        if self._behind:
            self._items.append(End.BEHIND)

    def close(self) -> None:
        """Ends the segment. A disk that hangs does not keep the service from stopping."""
        self._stop.set()
        self._thread.join(CLOSING)

    def _run(self) -> None:
        stopped = False
        while not stopped:
            stopped = self._stop.wait(LOOK)
            if stopped:
                self._items.append(End.STOPPED)
            try:
                self._work()
            except OSError as error:
                self._give_up(error)

    def _work(self) -> None:
        while self._items:
            item = self._items.popleft()
            if isinstance(item, str):
                with self._lock:
                    self._backlog -= len(item)
            self._write(item)
        if self._segment is not None and monotonic() - self._flushed >= FLUSH:
            self._segment.flush()
            forget(self._keeping, self._segment.path)
            self._flushed = monotonic()

    def _write(self, item: Opening | str | End) -> None:
        match item:
            case Opening():
                try:
                    self._end(End.LOADED)
                    self._begin(item)
                finally:
                    # Not before: until then turns wait behind the opening, and none is lost while the file is made.
                    self._begun += 1
            case End():
                self._end(item)
            case _ if self._segment is None:
                self._lost()
            case _:
                self._segment.add(item)
                if self._segment.written >= MOST_SEGMENT * self._keeping.segment_bytes:
                    self._end(End.LARGE)

    def _begin(self, opening: Opening) -> None:
        self._segment = Segment.begun(self._keeping.folder)
        forget(self._keeping, self._segment.path)
        for line in opening_lines(opening):
            self._segment.add(line)
            # Others decide meanwhile.
            sleep(0)
        self._segment.flush()
        if self._told:
            logger.info("rounds are logged again", extra={"file": str(self._segment.path)})
            self._told = False

    def _end(self, why: End) -> None:
        if self._segment is None:
            return
        self._segment.add(end_line(why))
        self._segment.flush()
        self._segment.close()
        self._segment = None
        if why in (End.BEHIND, End.LARGE):
            self._tell(why)

    def _give_up(self, error: OSError) -> None:
        if self._segment is not None:
            with suppress(OSError):
                self._segment.close()
            self._segment = None
        self._tell(str(error))

    def _tell(self, why: str) -> None:
        """Once, until rounds are logged again."""
        if not self._told:
            self._told = True
            told = {"folder": str(self._keeping.folder), "detail": why}
            logger.error("rounds are not logged for now; admission goes on", extra=told)
