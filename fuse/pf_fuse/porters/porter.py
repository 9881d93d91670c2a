"""A porter: a process that brings small files into the cache of a mount, and does nothing else.

The mount's own process has one lock for all that Python does in it. What a file costs to fetch, to check and to write
down is paid here, beside it.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from socket import MSG_DONTWAIT, send_fds, socket

from pf_backends.entries import Entry
from pf_backends.errors import Changed
from pf_backends.port import Backend, Swift
from pf_fuse.fetching.working import fetch_whole
from pf_fuse.opening import opened
from pf_fuse.pages.cache import CacheSettings, PageCache
from pf_fuse.pages.keys import Key
from pf_fuse.pages.stored import Kept, Stored
from pf_fuse.porters.lanes import Lanes
from pf_fuse.porters.messages import LARGEST, PACKET, READY, Order, Report, checked, delivered, failed, order_of, packet
from pf_fuse.settings import CarrySettings, read

AT_ONCE = 8
"""Requests under way, each by a thread of its own, and connections that are begun."""
_AT_ONCE_TAKEN = 8
"""Orders after which it is looked again what has come of those before."""


def carry(line: socket) -> None:
    """Does what is ordered, until nobody orders anything any more."""
    told = read(line.recv(LARGEST), CarrySettings)
    settings = told.source
    backend = opened(settings.url, settings.properties, settings.links, read_only=True, renewal=told.renewal)
    # How much may be there is the mount's business, which makes room too.
    cache = PageCache(CacheSettings([str(path) for path in settings.cache.folders], files=sys.maxsize))
    porter = Porter(backend, cache, line)
    workers = ThreadPoolExecutor(AT_ONCE, "carry")
    line.send(READY)
    try:
        _work(porter, backend, line, lambda order: workers.submit(porter.fetch, order), workers.submit)
    finally:
        workers.shutdown(wait=False, cancel_futures=True)
        backend.close()


def _work(
    porter: Porter,
    backend: Backend,
    line: socket,
    submit: Callable[[Order], object],
    dial: Callable[[Callable[[], None]], object],
) -> None:
    if isinstance(backend, Swift):
        Lanes(backend.wholes(), porter.keep, submit, dial).run(line, lambda: taken(line, porter.check))
        return
    while data := _packet(line, 0):
        order = order_of(data)
        if order.here:
            porter.check(order)
        else:
            submit(order)


def taken(line: socket, check: Callable[[Order], object]) -> list[Order] | None:
    """Those that have come of what is to be fetched; None if there will be no more."""
    found: list[Order] = []
    with suppress(BlockingIOError):
        for _ in range(_AT_ONCE_TAKEN):
            data = _packet(line, MSG_DONTWAIT)
            if not data:
                return found or None
            order = order_of(data)
            if order.here:
                check(order)
            else:
                found.append(order)
    return found


def _packet(line: socket, flags: int) -> bytes:
    """Empty if nobody orders anything any more."""
    with suppress(ConnectionError):
        return line.recv(PACKET, flags)
    return b""


class Porter:
    """Fetches, keeps and reports. For many threads."""

    def __init__(self, backend: Backend, cache: PageCache, line: socket) -> None:
        self._backend = backend
        self._address = backend.address
        self._cache = cache
        self._line = line

    def check(self, order: Order) -> None:
        """By who takes the orders: threads would wait for each other for longer than for the disk."""
        entry = order.entry
        stored = self._cache.sound(order.folder, Key(self._address, entry.path, entry.version), entry.size)
        if stored is None:
            self._report(checked(order.number, None))
        else:
            self._hand_over(lambda kept: checked(order.number, kept), stored)

    def fetch(self, order: Order) -> None:
        try:
            found, data = fetch_whole(self._backend, order.entry)
        except (Changed, FileNotFoundError):
            self._report(Report(order.number))
        except OSError as error:
            self._report(failed(order.number, error))
        else:
            self.keep(order, found, memoryview(data))

    def keep(self, order: Order, found: Entry, data: memoryview) -> None:
        stored = self._cache.put(order.folder, Key(self._address, found.path, found.version), data)
        if stored is None:
            self._report(delivered(order.number, found, None))
        else:
            self._hand_over(lambda kept: delivered(order.number, found, kept), stored)

    def _hand_over(self, report: Callable[[Kept], Report], stored: Stored) -> None:
        """A file of the cache, open."""
        with closing(stored):
            kept = Kept(stored.state, stored.sheet.seals.tolist())
            # What is known of a file is beside it where the disk has no attributes: whoever opens it looks there.
            self._report(report(kept), [stored.descriptor] if stored.sheet_descriptor < 0 else [])

    def _report(self, report: Report, descriptors: Sequence[int] = ()) -> None:
        # Nobody may be there any more to hear of it.
        with suppress(ConnectionError):
            try:
                send_fds(self._line, [packet(report)], descriptors)
            except OSError as error:
                # More are under way than this user may have open. Who hears of the file opens it himself.
                if error.errno != errno.ETOOMANYREFS or not descriptors:
                    raise
                self._line.send(packet(report))
