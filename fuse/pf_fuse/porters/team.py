"""The porters of a mount, as it sees them: begun when there is much to do, and ended when there is not.

Whatever becomes of one, nothing is lost: what it was told to bring is brought in another way.
"""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from pf_backends.entries import Entry
from pf_backends.errors import failure, unreachable
from pf_fuse.pages.cache import PageCache
from pf_fuse.pages.keys import Key
from pf_fuse.porters.messages import LARGEST, Report, found, order, packet, report_of
from pf_fuse.settings import CarrySettings

_COMMAND = (sys.executable, "-m", "pf_fuse", "carry")
_IDLE = 30.0
"""Seconds without orders after which a porter is ended."""
_AGAIN = 5.0
"""Seconds after which another one may be begun in place of one that is gone."""
_LOOK = 1.0
"""Seconds between two looks whether somebody waits too long."""
_ROOM = 256
"""Orders that a porter has at most."""
_BUSY = 16
"""Orders of the porter that has the fewest, from which on another one is begun."""
_MANY = 32
_LATELY = 2.0
"""Files in so many seconds are worth a porter."""
_PATIENCE = 10.0
"""Seconds for a porter to begin, and to end when it was told to."""

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Carried:
    """A file that is on its way."""

    key: Key
    entry: Entry
    until: float
    coming: Future[Entry | None] = field(default_factory=Future)


@dataclass(slots=True)
class Counts:
    """What they did so far."""

    fetched: int = 0
    """Bytes."""
    requests: int = 0
    failures: int = 0
    """Requests that failed."""


@dataclass(slots=True, eq=False)
class Porter:
    """One of them. The team's lock is held for what changes its orders."""

    line: socket.socket
    process: subprocess.Popen[bytes]
    orders: dict[int, Carried] = field(default_factory=dict)
    used: float = 0.0
    """When it was given an order last."""
    heard: bool = False
    """Somebody listens, or will."""
    over: threading.Event = field(default_factory=threading.Event)
    """It will say no more, or nobody listens."""


class Listening(Protocol):
    """Whoever hears what porters say; see `pf_fuse.operations.Kernel`."""

    def watch(self, descriptor: int, heard: Callable[[], None]) -> None: ...

    def unwatch(self, descriptor: int) -> None: ...


class Team:
    """All of them. May be used by any number of threads; what they say is heard by one."""

    def __init__(self, settings: CarrySettings, address: str, cache: PageCache, most: int, deadline: float) -> None:
        self._told = msgspec.json.encode(settings, enc_hook=str)
        self._address = address
        self._cache = cache
        self._most = most
        self._deadline = deadline
        self._lock = threading.Lock()
        self._porters: list[Porter] = []
        self._beginning = 0
        self._not_before = 0.0
        self._carried: dict[Key, Carried] = {}
        self._number = 0
        self._since, self._lately = 0.0, 0
        """Since when so many files were asked for."""
        self._listening: Listening | None = None
        self.counts = Counts()

    def begin(self, listening: Listening) -> None:
        """Before that, nobody is begun."""
        self._listening = listening

    def carry(self, entry: Entry) -> Future[Entry | None] | None:
        """Has a small file brought into the cache; None if nobody can now, or something is there of it.

        The future says what lies at its path; None if that is to be found out in another way.
        """
        key = Key(self._address, entry.path, entry.version)
        with self._lock:
            if known := self._carried.get(key):
                return known.coming
            if self._chosen() is None:
                return None
        if not self._cache.wants(key):
            return None
        with self._lock:
            known = self._carried.get(key)
            return known.coming if known else self._ordered(Carried(key, entry, time.monotonic() + self._deadline))

    @property
    def processes(self) -> Sequence[int]:
        """Of the porters that are there."""
        with self._lock:
            return [porter.process.pid for porter in self._porters]

    def end(self) -> None:
        """Nobody listens any more."""
        with self._lock:
            self._listening = None
            porters = list(self._porters)
        for porter in porters:
            _hang_up(porter)
            porter.over.set()

    def _chosen(self) -> Porter | None:
        """Who has the fewest orders. Where all have many, another one is begun."""
        porter = min(self._porters, key=lambda porter: len(porter.orders), default=None)
        count = len(porter.orders) if porter else self._asked_lately()
        enough = _BUSY if porter else _MANY
        if count >= enough and len(self._porters) + self._beginning < self._most:
            self._begin()
        return porter if porter and len(porter.orders) < _ROOM else None

    def _asked_lately(self) -> int:
        now = time.monotonic()
        if now - self._since > _LATELY:
            self._since, self._lately = now, 0
        self._lately += 1
        return self._lately

    def _begin(self) -> None:
        if self._listening and time.monotonic() >= self._not_before:
            self._beginning += 1
            threading.Thread(target=self._run, name="porter", daemon=True).start()

    def _ordered(self, carried: Carried) -> Future[Entry | None] | None:
        porter = self._chosen()
        if porter is None:
            return None
        self._number += 1
        try:
            porter.line.send(packet(order(self._number, carried.entry)), socket.MSG_DONTWAIT)
        except OSError:
            # It is slow, or gone, which who listens to it finds out.
            return None
        porter.used = time.monotonic()
        porter.orders[self._number] = self._carried[carried.key] = carried
        return carried.coming

    def _run(self) -> None:
        """Begins a porter, and looks after it."""
        porter = None
        try:
            porter = _started()
            self._make_known(porter)
            while not porter.over.wait(_LOOK):
                self._look(porter)
        except OSError as error:
            log.warning("no process fetches small files beside this one: %s", error)
        finally:
            self._gone(porter)

    def _make_known(self, porter: Porter) -> None:
        porter.line.settimeout(_PATIENCE)
        porter.line.send(self._told)
        ready = porter.line.recv(LARGEST)
        porter.line.settimeout(None)
        listening = self._listening
        if ready and listening:
            porter.heard = True
            listening.watch(porter.line.fileno(), lambda: self._heard(porter, listening))
        else:
            porter.over.set()

    def _heard(self, porter: Porter, listening: Listening) -> None:
        """Takes what it has said. The first time that is nothing: from then on it can be given orders."""
        if porter not in self._porters:
            with self._lock:
                self._beginning -= 1
                self._porters.append(porter)
        try:
            while data := porter.line.recv(LARGEST, socket.MSG_DONTWAIT):
                self._reported(porter, report_of(data))
        except BlockingIOError:
            return
        except ConnectionError:
            log.warning("a process that fetched small files has broken off")
        # Nobody else closes what may be listened to: its number could be another one's by then.
        listening.unwatch(porter.line.fileno())
        porter.line.close()
        porter.over.set()

    def _reported(self, porter: Porter, report: Report) -> None:
        with self._lock:
            carried = porter.orders.pop(report.number, None)
            if carried:
                self._carried.pop(carried.key, None)
        if carried is None:
            return
        self.counts.requests += 1
        if report.modified is not None:
            self.counts.fetched += carried.entry.size
        if report.error:
            self.counts.failures += 1
        if report.state:
            self._cache.delivered(carried.key, carried.entry.size, report.state)
        # It may have been late.
        with suppress(InvalidStateError):
            if report.error:
                carried.coming.set_exception(failure(report.error, carried.entry.path, report.why))
            else:
                carried.coming.set_result(found(carried.entry, report))

    def _look(self, porter: Porter) -> None:
        """Nothing was heard of it for a while."""
        now = time.monotonic()
        with self._lock:
            idle = not porter.orders and now - porter.used > _IDLE
            late = [each for each in porter.orders.values() if each.until <= now]
        if idle:
            _hang_up(porter)
        if self._listening is None:
            porter.over.set()
        if late:
            porter.process.kill()
        for each in late:
            with suppress(InvalidStateError):
                each.coming.set_exception(unreachable(each.entry.path, "the backend has not answered in time"))

    def _gone(self, porter: Porter | None) -> None:
        """What it had to bring is not known."""
        with self._lock:
            ready = porter in self._porters
            self._porters = [each for each in self._porters if each is not porter]
            self._beginning -= not ready
            left = list(porter.orders.values()) if porter else []
            for each in left:
                self._carried.pop(each.key, None)
            if left or not ready:
                self._not_before = time.monotonic() + _AGAIN
        for each in left:
            with suppress(InvalidStateError):
                each.coming.set_result(None)
        if porter:
            _ended(porter)


def _started() -> Porter:
    line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        # It must hold nothing of this process that is not meant for it, and no folder.
        process = subprocess.Popen(_COMMAND, stdin=theirs.fileno(), cwd="/", stdout=subprocess.DEVNULL)
    return Porter(line, process, used=time.monotonic())


def _hang_up(porter: Porter) -> None:
    with suppress(OSError):
        porter.line.shutdown(socket.SHUT_WR)


def _ended(porter: Porter) -> None:
    if not porter.heard:
        porter.line.close()
    try:
        porter.process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        porter.process.kill()
        porter.process.wait()
