"""Sending parts of a large file while it is still written, so that little is left to send when it is closed.

A part is sent ahead once, when all before its end was written in sequence. What is written again after that, or cut
off, is sent again under its number when the upload is finished.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Condition

from pf_backends.entries import Facts, Part, Upload
from pf_backends.port import Backend
from pf_fuse.staging.buffers import Buffers
from pf_fuse.staging.notes import Notes

logger = logging.getLogger(__name__)

AT_ONCE = 4
"""Parts of one file that are under way ahead; others want to send something too."""


@dataclass(frozen=True, slots=True)
class Begun:
    """An upload that was begun ahead."""

    upload: Upload
    facts: Facts
    """What the file is to keep, as was known then."""
    note: Path
    sent: Mapping[int, Future[Part]]
    """Parts by their numbers, which may still be under way, or may have failed."""
    stale: frozenset[int]
    """Those that were sent and are not any more what the file has."""


class Ahead:
    """One upload of a file that is still written."""

    def __init__(
        self,
        backend: Backend,
        notes: Notes[Upload],
        senders: Executor,
        buffers: Buffers,
        descriptor: int,
        long: int,
        target: Callable[[], tuple[str, Facts]],
    ) -> None:
        """`long`: bytes of a part. `target`: where the file goes, and what it is to keep; it may ask the backend."""
        self.long = long
        self._backend = backend
        self._notes = notes
        self._senders = senders
        self._buffers = buffers
        self._descriptor = os.dup(descriptor)
        buffers.begin()
        self._front = 0
        self._sent: dict[int, Future[Part]] = {}
        self._stale = set[int]()
        self._begun: tuple[Upload, Facts, Path] | None = None
        self._state = Condition()
        self._flying = 1
        """Requests that are under way, or will be; the first is the one that begins it."""
        self._beginning = True
        self._ended = False
        """Nothing more is sent ahead."""
        self._unwanted = False
        """Nobody will finish it."""
        senders.submit(self._begin, target)

    def written(self, start: int, end: int, front: int) -> None:
        """Bytes are others now; all before the front were written in sequence."""
        with self._state:
            for number in range(start // self.long + 1, min(-(-end // self.long), len(self._sent)) + 1):
                self._stale.add(number)
            self._front = front
            self._go_on()

    def end(self) -> Begun | None:
        """Sends nothing more, and says what there is; None if it could not be begun. Blocks."""
        with self._state:
            self._ended = True
            self._state.wait_for(lambda: not self._beginning)
            self._rest()
            if self._begun is None:
                return None
            return Begun(*self._begun, dict(self._sent), frozenset(self._stale))

    def drop(self) -> None:
        """Nobody needs it: the store forgets what it has, as soon as nothing is under way."""
        with self._state:
            if not self._ended:
                self._ended = self._unwanted = True
                if not self._flying:
                    self._senders.submit(self._forget)
                self._rest()

    def _begin(self, target: Callable[[], tuple[str, Facts]]) -> None:
        begun = None
        try:
            path, facts = target()
            upload = self._backend.begin(path, facts=facts)
            begun = upload, facts, self._notes.write(upload)
        except OSError as error:
            # Who closes the file tries again, and is told.
            logger.info("not sent ahead", extra={"why": str(error)})
        finally:
            with self._state:
                self._begun, self._beginning = begun, False
                self._state.notify_all()
            self._landed()

    def _go_on(self) -> None:
        """The caller holds the lock."""
        while self._begun and not self._ended and self._flying < AT_ONCE:
            number = len(self._sent) + 1
            if number * self.long > self._front:
                return
            self._flying += 1
            self._sent[number] = self._senders.submit(self._send, self._begun[0], number)

    def _send(self, upload: Upload, number: int) -> Part:
        try:
            with self._buffers.filled(self._descriptor, (number - 1) * self.long, self.long) as data:
                return self._backend.send(upload, number, data)
        finally:
            self._landed()

    def _landed(self) -> None:
        with self._state:
            self._flying -= 1
            last = self._unwanted and not self._flying
            self._go_on()
            self._rest()
        if last:
            self._forget()

    def _rest(self) -> None:
        """The caller holds the lock."""
        if self._ended and not self._flying and self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            self._buffers.end()

    def _forget(self) -> None:
        if self._begun:
            upload, _, note = self._begun
            with suppress(OSError):
                self._backend.drop(upload)
                note.unlink(missing_ok=True)
