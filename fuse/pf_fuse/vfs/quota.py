"""How much may lie in what is mounted.

The place itself knows no such limit: what lies there is counted from time to time, and what is written and removed by
this mount counts at once. What others do counts when it is counted again, so that all together may get beyond it.
"""

from __future__ import annotations

import errno
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from pf_backends.entries import ROOT, Kind, Page, Space
from pf_backends.errors import failure
from pf_fuse.threads import started
from pf_fuse.vfs.tree import Tree

logger = logging.getLogger(__name__)

_EVERY = 300.0
"""Seconds between two counts, at least."""
_SOON = 2.0
"""The same after the first, and while this mount changes something: that may be counted or not."""
_RARELY = 3600.0
"""The same where nothing is written, and only while somebody asks."""
_SPARE = 20
"""Times that it took to count are to pass before it is counted again."""
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Held:
    """Files, and the bytes they have."""

    bytes: int = 0
    files: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes and files that may be there; None: any number."""

    bytes: int | None = None
    files: int | None = None

    def within(self, others: Limits) -> Limits:
        """What both allow."""
        return Limits(_least(self.bytes, others.bytes), _least(self.files, others.files))


class Quota:
    """What may be there, and what is. For any number of threads."""

    def __init__(self, own: Limits, of_place: Limits = Limits()) -> None:
        """The limits of the mount alone, and those of all mounts of the place."""
        self._own = own
        self._of_place = of_place
        self._lock = threading.Lock()
        self._held: Held | None = None
        """None: it was not counted yet, and nothing is refused."""
        self.changes = 0
        """How often something was taken or given back."""

    @property
    def of_place(self) -> Limits:
        return self._of_place

    @property
    def most(self) -> Limits:
        return self._own.within(self._of_place)

    @property
    def held(self) -> Held | None:
        return self._held

    @property
    def limited(self) -> bool:
        return self.most != Limits()

    def become(self, of_place: Limits) -> None:
        """The place has other limits from now on. What is there already stays."""
        self._of_place = of_place

    def take(self, path: str, size: int = 0, files: int = 0) -> None:
        """So much more will be there, or less; EDQUOT if it may not be more."""
        with self._lock:
            self.changes += 1
            held = self._held
            if held is None:
                return
            after = Held(max(0, held.bytes + size), max(0, held.files + files))
            most = self.most
            if size > 0 and most.bytes is not None and after.bytes > most.bytes:
                raise failure(errno.EDQUOT, path, f"the quota of {most.bytes} bytes is used up")
            if files > 0 and most.files is not None and after.files > most.files:
                raise failure(errno.EDQUOT, path, f"the quota of {most.files} files is used up")
            self._held = after

    def correct(self, size: int, files: int) -> None:
        """There is so much more than was taken, or less, whether it may be there or not."""
        with self._lock:
            self.changes += 1
            if held := self._held:
                self._held = Held(max(0, held.bytes + size), max(0, held.files + files))

    def counted(self, held: Held) -> None:
        with self._lock:
            self._held = held

    def space(self, of_place: Space | None) -> Space | None:
        """What is told of room: what is left of the quota, or of the place if that is less."""
        with self._lock:
            held, most = self._held or Held(), self.most
        room = of_place or Space(1 << 50, 1 << 50, 1 << 40, 1 << 40)
        size, free = _left(most.bytes, held.bytes, room.size, room.free)
        things, things_free = _left(most.files, held.files, room.things, room.things_free)
        return Space(size, free, things, things_free)


class Walks(Protocol):
    """What is needed of a backend to count."""

    def walk(self, folder: str, *, rest: str = "", limit: int = 1000) -> Page: ...


class Counter:
    """Counts what there is, from time to time."""

    def __init__(
        self,
        backend: Walks,
        tree: Tree,
        quota: Quota,
        clock: Callable[[], float] = time.monotonic,
        *,
        rarely: bool = False,
    ) -> None:
        """`rarely`: the mount writes nothing, and has to know what there is only when it is asked."""
        self._backend = backend
        self._tree = tree
        self._quota = quota
        self._clock = clock
        self._rarely = rarely
        self._turn = threading.Lock()
        self._next = 0.0
        self._begun = False
        self._ended = threading.Event()

    def begin(self) -> None:
        """Unless it has begun. By one thread after the other."""
        if not self._begun and not self._rarely:
            started("count", self._run)
            self._begun = True

    def asked(self) -> None:
        """Somebody wants to know how much there is. Nobody waits for it to be counted."""
        if self._rarely and self._quota.limited and self._clock() >= self._next and self._turn.acquire(blocking=False):
            try:
                started("count", self._once)
            except OSError as error:
                self._turn.release()
                logger.warning("not counted for the quota", extra={"why": str(error)})

    def end(self) -> None:
        self._ended.set()

    def count(self) -> None:
        """What the backend has, and what is written here and not uploaded. Blocks."""
        size = files = 0
        rest = ""
        while not self._ended.is_set():
            page = self._backend.walk(ROOT, rest=rest, limit=_PAGE)
            found = [entry for entry in page.entries if entry.kind is Kind.FILE]
            size, files = size + sum(entry.size for entry in found), files + len(found)
            rest = page.rest
            if not rest:
                waiting = self._waiting()
                self._quota.counted(Held(max(0, size + waiting.bytes), files + waiting.files))
                return

    def _waiting(self) -> Held:
        """What there will be more than the backend has; fewer bytes where files were cut."""
        with self._tree.lock:
            staged = [node.staged for node in self._tree.nodes.all() if node.staged and not node.unlinked]
            dirty = [each for each in staged if each.dirty]
            return Held(sum(each.more for each in dirty), sum(each.there is None for each in dirty))

    def _run(self) -> None:
        pause, seen = 0.0, -1
        while not self._ended.wait(pause):
            begun = self._clock()
            if self._quota.limited:
                self._try()
            least = _EVERY if seen == self._quota.changes else _SOON
            seen = self._quota.changes
            pause = max(least, _SPARE * (self._clock() - begun))

    def _once(self) -> None:
        begun = self._clock()
        try:
            self._try()
        finally:
            self._next = self._clock() + max(_RARELY, _SPARE * (self._clock() - begun))
            self._turn.release()

    def _try(self) -> None:
        try:
            self.count()
        except OSError as error:
            logger.warning("not counted for the quota", extra={"why": str(error)})


def _least(one: int | None, other: int | None) -> int | None:
    return min((each for each in (one, other) if each is not None), default=None)


def _left(most: int | None, held: int, size: int, free: int) -> tuple[int, int]:
    if most is None:
        return size, free
    return most, min(free, max(0, most - held))
