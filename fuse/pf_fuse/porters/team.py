"""The porters of a mount, as it sees them: begun when there is much to do, and ended when there is not.

Whatever becomes of one, nothing is lost: what it was told to bring is brought in another way.
"""

from __future__ import annotations

import logging
import os
import socket
import struct
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
from pf_backends.errors import failure
from pf_fuse.coming import Coming
from pf_fuse.pages.cache import PageCache, Wish
from pf_fuse.pages.keys import Key
from pf_fuse.porters.messages import LARGEST, PACKET, Report, found, order, packet, report_of
from pf_fuse.settings import CarrySettings
from pf_fuse.threads import started_if_room

_COMMAND = (sys.executable, "-m", "pf_fuse", "carry")
_IDLE = 30.0
"""Seconds without orders after which a porter is ended."""
_AGAIN, _LONGEST = 5.0, 600.0
"""Seconds after which another one may be begun in place of one that is gone; longer where none has ever been ready."""
_LOOK = 1.0
"""Seconds between two looks whether somebody waits too long."""
_ROOM = 256
"""Orders that a porter has at most."""
_AHEAD = 32
"""Orders of a porter from which on it is given none that nobody waits for: those that come after would wait longer."""
_DESCRIPTOR = struct.Struct("=i")
_BESIDE = socket.CMSG_SPACE(_DESCRIPTOR.size)
_HOW = socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC
PATIENCE = 10.0
"""Seconds; whoever has waited so long for a porter asks the backend himself."""
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
    wish: Wish
    coming: Coming


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
    said: float = 0.0
    """When it said something last."""
    heard: bool = False
    """Somebody listens, or will."""
    known: bool = False
    """It was ready."""
    left: float = 0.0
    """When it was told to end."""
    over: threading.Event = field(default_factory=threading.Event)
    """It will say no more, or nobody listens."""


class Listening(Protocol):
    """Whoever hears what porters say; see `pf_fuse.operations.Kernel`."""

    def watch(self, descriptor: int, heard: Callable[[], None]) -> None: ...

    def unwatch(self, descriptor: int) -> None: ...


class Team:
    """All of them. May be used by any number of threads; what they say is heard by one."""

    def __init__(
        self, settings: CarrySettings, address: str, cache: PageCache, most: int, patience: float = PATIENCE
    ) -> None:
        """`patience`: seconds after which what was ordered is to be had in another way."""
        self._told = msgspec.json.encode(settings, enc_hook=str)
        self._address = address
        self._cache = cache
        self._most = most if len(self._told) <= LARGEST else 0
        self._patience = patience
        self._lock = threading.Lock()
        self._porters: list[Porter] = []
        self._beginning = 0
        self._not_before = 0.0
        self._failed = 0
        """Porters in a row that were never ready."""
        self._carried: dict[Key, Carried] = {}
        self._number = 0
        self._since, self._lately = 0.0, 0
        """Since when so many files were asked for."""
        self._listening: Listening | None = None
        self.counts = Counts()

    def begin(self, listening: Listening) -> None:
        """Before that, nobody is begun."""
        self._listening = listening

    def carry(self, entry: Entry, *, ahead: bool = False) -> Coming | None:
        """Has a small file brought into the cache, or checked there; None if nobody can now, or it was.

        `ahead`: nobody waits for it so far.
        """
        key, most = Key(self._address, entry.path, entry.version), _AHEAD if ahead else _ROOM
        with self._lock:
            if known := self._carried.get(key):
                return known.coming
            if self._chosen(most) is None:
                return None
        wish = self._cache.wants(key)
        if wish is None or (ahead and wish.here):
            return None
        with self._lock:
            known = self._carried.get(key)
            if known:
                return known.coming
            return self._ordered(Carried(key, entry, wish, Coming(Future(), time.monotonic())), most)

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

    def _chosen(self, most: int) -> Porter | None:
        """Who has the fewest orders. Where all have many, another one is begun."""
        porter = min(self._porters, key=lambda porter: len(porter.orders), default=None)
        count = len(porter.orders) if porter else self._asked_lately()
        enough = _BUSY if porter else _MANY
        if count >= enough and len(self._porters) + self._beginning < self._most:
            self._begin()
        return porter if porter and len(porter.orders) < most else None

    def _asked_lately(self) -> int:
        now = time.monotonic()
        if now - self._since > _LATELY:
            self._since, self._lately = now, 0
        self._lately += 1
        return self._lately

    def _begin(self) -> None:
        if self._listening and time.monotonic() >= self._not_before:
            # Whoever calls holds the lock, which it takes when it is over.
            if started_if_room("porter", self._run):
                self._beginning += 1
            else:
                self._not_before = time.monotonic() + _AGAIN

    def _ordered(self, carried: Carried, most: int) -> Coming | None:
        porter = self._chosen(most)
        if porter is None:
            return None
        self._number += 1
        try:
            wish = carried.wish
            ordered = order(self._number, wish.folder, carried.entry, here=wish.here)
            porter.line.send(packet(ordered), socket.MSG_DONTWAIT)
        except OSError:
            # It is slow, or gone, which who listens to it finds out.
            return None
        porter.used = carried.coming.since
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
                # Here nobody waits while room is made.
                self._cache.tidy()
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
            log.warning("a process that is to fetch small files has ended before it could")
            porter.over.set()

    def _heard(self, porter: Porter, listening: Listening) -> None:
        """Takes what it has said. The first time that is nothing: from then on it can be given orders."""
        if not porter.known:
            with self._lock:
                porter.known = True
                self._beginning -= 1
                self._porters.append(porter)
        try:
            while packet := _next(porter.line):
                data, descriptor = packet
                self._reported(porter, report_of(data), descriptor)
        except BlockingIOError:
            return
        except ConnectionError:
            log.warning("a process that fetched small files has broken off")
        # Nobody else closes what may be listened to: its number could be another one's by then.
        listening.unwatch(porter.line.fileno())
        porter.line.close()
        porter.over.set()

    def _reported(self, porter: Porter, report: Report, descriptor: int) -> None:
        with self._lock:
            porter.said = time.monotonic()
            carried = porter.orders.pop(report.number, None)
            if carried:
                self._carried.pop(carried.key, None)
        if carried is None:
            _close(descriptor)
            return
        if not carried.wish.here:
            self._count(report, carried.entry.size)
        try:
            if report.kept:
                self._cache.delivered(carried.wish, carried.key, carried.entry.size, report.kept, descriptor)
        finally:
            _settle(carried, report)

    def _count(self, report: Report, size: int) -> None:
        self.counts.requests += 1
        self.counts.fetched += size if report.modified is not None else 0
        self.counts.failures += bool(report.error)

    def _look(self, porter: Porter) -> None:
        """Whether it has nothing to do, and whether somebody waits too long for it."""
        now = time.monotonic()
        with self._lock:
            late = self._late(porter, now)
            silent = bool(late) and now - porter.said > self._patience
            if not porter.left and porter.known and (silent or (not porter.orders and now - porter.used > _IDLE)):
                porter.left = now
                self._porters.remove(porter)
                _hang_up(porter)
        if self._listening is None:
            porter.over.set()
        if silent or (porter.left and now - porter.left > _PATIENCE):
            porter.process.kill()
        for each in late:
            _give_up(each)

    def _late(self, porter: Porter, now: float) -> list[Carried]:
        """What was ordered too long ago is ordered no more. The caller holds the lock."""
        late = {number: each for number, each in porter.orders.items() if now - each.coming.since > self._patience}
        for number, each in late.items():
            del porter.orders[number]
            self._carried.pop(each.key, None)
        return list(late.values())

    def _gone(self, porter: Porter | None) -> None:
        """What it had to bring is not known."""
        with self._lock:
            known = porter is not None and porter.known
            self._porters = [each for each in self._porters if each is not porter]
            self._beginning -= not known
            left = list(porter.orders.values()) if porter else []
            for each in left:
                self._carried.pop(each.key, None)
            self._failed = 0 if known else self._failed + 1
            if left or not known:
                self._not_before = time.monotonic() + min(_AGAIN * 2**self._failed, _LONGEST)
        for each in left:
            _give_up(each)
        if porter:
            _ended(porter)


def _next(line: socket.socket) -> tuple[bytes, int] | None:
    """What comes next, with the descriptor that comes along or -1; None at the end. BlockingIOError if nothing has."""
    data, beside, _, _ = line.recvmsg(PACKET, _BESIDE, _HOW)
    found = -1
    for _, _, held in beside:
        (found,) = _DESCRIPTOR.unpack(held)
    return (data, found) if data else None


def _close(descriptor: int) -> None:
    if descriptor >= 0:
        os.close(descriptor)


def _settle(carried: Carried, report: Report) -> None:
    # It may have been late.
    with suppress(InvalidStateError):
        if report.error:
            carried.coming.found.set_exception(failure(report.error, carried.entry.path, report.why))
        else:
            carried.coming.found.set_result(found(carried.entry, report))


def _give_up(carried: Carried) -> None:
    """It is to be found out in another way."""
    with suppress(InvalidStateError):
        carried.coming.found.set_result(None)


def _started() -> Porter:
    line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        try:
            # It must hold nothing of this process that is not meant for it, and no folder.
            process = subprocess.Popen(_COMMAND, stdin=theirs.fileno(), cwd="/", stdout=subprocess.DEVNULL)
        except OSError:
            line.close()
            raise
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
