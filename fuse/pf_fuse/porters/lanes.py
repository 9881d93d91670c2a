"""Many small files at once, by one thread: each connection has one on its way, and what comes of any is taken.

Whatever is not as it is nearly always, a refusal, a redirection, an answer of another length, is left to those who can
deal with it.
"""

from __future__ import annotations

import select
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable

from pf_backends.entries import Entry
from pf_backends.errors import Unreachable
from pf_backends.port import Wholes
from pf_backends.wire.messages import Head, parse_head
from pf_fuse.porters.messages import Order

AT_ONCE = 8
"""Connections."""
_SMALL = 1 << 20
_HEAD = 1 << 16
"""Bytes before those of a file, at most."""
_STALL = 10.0
"""Seconds without a word after which nothing more is expected of a connection."""
_KEPT = 20.0
"""Seconds after which a connection that nobody used is not trusted to be there still."""
_LOOK = 1.0
_END = b"\r\n\r\n"
_LATER = (BlockingIOError, ssl.SSLWantReadError)


class Lane:
    """A connection, and the file that comes over it."""

    __slots__ = ("_buffer", "_got", "_head", "_line", "_view", "end", "order", "since", "wanted")

    def __init__(self, line: socket.socket) -> None:
        self.order: Order | None = None
        self.wanted: Entry | None = None
        """What is ordered."""
        self.since = 0.0
        """When something was heard, or asked, last."""
        self._line = line
        self._buffer = bytearray(_SMALL + _HEAD)
        self._view = memoryview(self._buffer)
        self._got = 0
        self._head: Head | None = None
        self.end = 0
        """Of the head."""

    def ask(self, order: Order, wanted: Entry, request: bytes, now: float) -> None:
        self.order, self.wanted, self.since = order, wanted, now
        self._got, self._head = 0, None
        if self._line.send(request) < len(request):
            raise Unreachable("takes no whole request")

    def take(self) -> Head | None:
        """Takes what has come. The head of the answer once all of it is there; Unreachable if it is not as usual."""
        while True:
            room = self._view[self._got :]
            try:
                count = self._line.recv_into(room)
            except _LATER:
                return None
            if not count or self.order is None:
                raise Unreachable("hung up")
            self._got += count
            head = self._head or self._begun(self.order)
            if head and self._got >= self.end + self.order.size:
                return head

    @property
    def body(self) -> memoryview:
        """Of the answer."""
        return self._view[self.end : self._got]

    def fileno(self) -> int:
        return self._line.fileno()

    def close(self) -> None:
        self._line.close()

    def _begun(self, order: Order) -> Head | None:
        """The head, if it is there."""
        found = self._buffer.find(_END, 0, min(self._got, _HEAD))
        if found < 0:
            return None
        head = self._head = parse_head(bytes(self._view[:found]))
        self.end = found + len(_END)
        if head.status != 200 or head.length != order.size or head.closes or self._got > self.end + order.size:
            raise Unreachable("is not what was asked for")
        return head


class Lanes:
    """All of them, for one thread."""

    def __init__(
        self, wholes: Wholes, came: Callable[[Order, Entry, memoryview], None], otherwise: Callable[[Order], object]
    ) -> None:
        self._wholes = wholes
        self._came = came
        self._otherwise = otherwise
        self._poll = select.epoll()
        self._lanes: dict[int, Lane] = {}
        self._idle: list[Lane] = []
        self._todo: deque[Order] = deque()

    def run(self, line: socket.socket, ordered: Callable[[], list[Order] | None]) -> None:
        """Until `ordered`, which is asked whenever there is something on the line, says that there will be no more."""
        self._poll.register(line, select.EPOLLIN)
        while True:
            for descriptor, _ in self._poll.poll(_LOOK):
                if lane := self._lanes.get(descriptor):
                    self._heard(lane)
                    continue
                orders = ordered()
                if orders is None:
                    return
                self._todo.extend(orders)
            self._begin()
            self._look()

    def _heard(self, lane: Lane) -> None:
        order, wanted = lane.order, lane.wanted
        try:
            head = lane.take()
        except (OSError, ValueError):
            self._drop(lane)
            return
        lane.since = time.monotonic()
        if head is None or order is None or wanted is None:
            return
        entry = self._wholes.entry(wanted.path, head.headers, lane.body)
        if entry and entry.version == wanted.version:
            self._came(order, entry, lane.body)
        else:
            self._otherwise(order)
        lane.order = None
        self._idle.append(lane)

    def _begin(self) -> None:
        while self._todo:
            lane = self._idle.pop() if self._idle else self._dialled()
            if lane is None:
                return
            order = self._todo.popleft()
            wanted = order.entry
            try:
                lane.ask(order, wanted, self._wholes.request(wanted.path), time.monotonic())
            except OSError:
                self._drop(lane)

    def _dialled(self) -> Lane | None:
        """A new one, if there may be more. Where none can be had those who can tell why are asked."""
        if len(self._lanes) >= AT_ONCE:
            return None
        try:
            line = self._wholes.dialled()
        except OSError:
            while self._todo:
                self._otherwise(self._todo.popleft())
            return None
        line.setblocking(False)
        lane = Lane(line)
        self._lanes[line.fileno()] = lane
        self._poll.register(line, select.EPOLLIN)
        return lane

    def _look(self) -> None:
        """Those of which nothing is heard."""
        now = time.monotonic()
        if self._idle and now - self._idle[0].since > _KEPT:
            self._drop(self._idle[0])
        for lane in [lane for lane in self._lanes.values() if lane.order and now - lane.since > _STALL]:
            self._drop(lane)

    def _drop(self, lane: Lane) -> None:
        del self._lanes[lane.fileno()]
        if lane in self._idle:
            self._idle.remove(lane)
        lane.close()
        if lane.order:
            self._otherwise(lane.order)
