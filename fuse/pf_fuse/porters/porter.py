"""A porter: a process that brings small files into the cache of a mount, and does nothing else.

The mount's own process has one lock for all that Python does in it. What a file costs to fetch, to check and to write
down is paid here, beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from socket import MSG_DONTWAIT, socket

from pf_backends.entries import Entry
from pf_backends.errors import Changed
from pf_backends.port import Backend, Swift
from pf_fuse.fetching.working import fetch_whole
from pf_fuse.opening import opened
from pf_fuse.pages.cache import CacheSettings, PageCache
from pf_fuse.pages.keys import Key
from pf_fuse.porters.lanes import Lanes
from pf_fuse.porters.messages import LARGEST, READY, Order, Report, delivered, failed, order_of, packet
from pf_fuse.settings import CarrySettings, read

AT_ONCE = 8
"""Requests under way, each by a thread of its own, and connections that are begun."""


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
        Lanes(backend.wholes(), porter.keep, submit, dial).run(line, lambda: _orders(line))
        return
    while data := _packet(line, 0):
        submit(order_of(data))


def _orders(line: socket) -> list[Order] | None:
    """Those that have come; None if there will be no more."""
    found: list[Order] = []
    with suppress(BlockingIOError):
        while data := _packet(line, MSG_DONTWAIT):
            found.append(order_of(data))
        return found or None
    return found


def _packet(line: socket, flags: int) -> bytes:
    """Empty if nobody orders anything any more."""
    with suppress(ConnectionError):
        return line.recv(LARGEST, flags)
    return b""


class Porter:
    """Fetches, keeps and reports. For many threads."""

    def __init__(self, backend: Backend, cache: PageCache, line: socket) -> None:
        self._backend = backend
        self._address = backend.address
        self._cache = cache
        self._line = line

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
        state = self._cache.put(order.folder, Key(self._address, found.path, found.version), data)
        self._report(delivered(order.number, found, state))

    def _report(self, report: Report) -> None:
        # Nobody may be there any more to hear of it.
        with suppress(ConnectionError):
            self._line.send(packet(report))
