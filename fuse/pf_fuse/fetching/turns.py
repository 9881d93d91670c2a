"""Whose turn it is: what a reader waits for comes first, then what is fetched ahead, then files of folders."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from pf_backends.entries import Entry
from pf_fuse.fetching.fetches import Fetch

if TYPE_CHECKING:
    from pf_fuse.fetching.reading import Reading

Turn: TypeAlias = "Fetch | Entry | Reading"
AT_REST = 5.0
"""Seconds without work after which memory is given back."""


class Turns:
    """Who is served next. Whoever calls holds the lock, but for `take`."""

    def __init__(self, lock: threading.Lock, hire: Callable[[], None]) -> None:
        self.ahead_bytes = 0
        """Of what waits, or is under way, and was not asked for."""
        self.starved = False
        """There was no memory for what nobody waits for: it is not begun until there is."""
        self.ended = False
        self._hire = hire
        """Begins another worker, if there may be more; OSError if there is none, and none can begin."""
        self._idle = 0
        """Workers that wait."""
        self._changed = threading.Condition(lock)
        self._wanted: deque[Fetch] = deque()
        self._ahead: deque[Fetch] = deque()
        self._later: deque[Entry | Reading] = deque()

    @property
    def waiting(self) -> int:
        return len(self._wanted) + len(self._ahead) + len(self._later)

    def want(self, fetch: Fetch) -> None:
        """Somebody waits for it. It may be here already, and come up twice. OSError if nobody can serve it."""
        self._wanted.append(fetch)
        self._call(1)

    def add(self, fetch: Fetch) -> None:
        """Nobody waits for it so far."""
        self.ahead_bytes += fetch.extent.size
        self._ahead.append(fetch)
        self._call_if_room(1)

    def put_back(self, fetch: Fetch) -> None:
        """There is no memory for it, and nobody waits for it."""
        fetch.started = False
        self.ahead_bytes += fetch.extent.size
        self._ahead.appendleft(fetch)
        self.starved = True

    def fed(self) -> None:
        """There may be memory again."""
        if self.starved:
            self.starved = False
            self._changed.notify(self.waiting)

    def cancel(self, fetch: Fetch) -> None:
        """Nobody needs it any more, and nobody has begun with it."""
        if not fetch.ended and fetch in self._ahead:
            self.ahead_bytes -= fetch.extent.size
        fetch.ended = True

    def later(self, turns: Sequence[Entry | Reading]) -> None:
        """Files that may be opened soon, and such as are to be checked: when nobody waits for anything."""
        self._later.extend(turns)
        self._call_if_room(len(turns))

    def next(self) -> Turn | None:
        for turns in (self._wanted, self._ahead):
            while turns and not (self.starved and turns is self._ahead):
                fetch = turns.popleft()
                if turns is self._ahead and not fetch.ended:
                    self.ahead_bytes -= fetch.extent.size
                if not fetch.started and not fetch.ended:
                    fetch.started = True
                    return fetch
        return self._later.popleft() if self._later and not self.starved else None

    def sleep(self) -> bool:
        """Waits until there may be something to do; false if nothing came for a while."""
        self._idle += 1
        try:
            return self._changed.wait(AT_REST)
        finally:
            self._idle -= 1

    def _call(self, count: int) -> None:
        """Workers, for so many turns."""
        self._changed.notify(count)
        if self.waiting > self._idle:
            self._hire()

    def _call_if_room(self, count: int) -> None:
        """As nobody waits, it may come up when the next worker begins."""
        with suppress(OSError):
            self._call(count)

    def end(self) -> None:
        """Nobody is served any more."""
        self.ended = True
        for turns in (self._wanted, self._ahead, self._later):
            turns.clear()
        self._changed.notify_all()
