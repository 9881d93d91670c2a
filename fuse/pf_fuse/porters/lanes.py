"""Many small files at once, by one thread: each connection has one on its way, and what comes of any is taken.

Whatever is not as it is nearly always, a refusal, a redirection, an answer of another length, is left to those who can
deal with it.
"""

from __future__ import annotations

import os
import select
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

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
_AGAIN = 5.0
"""Seconds after which another connection is begun where one could not be."""
_UNUSUAL = 16
_PAUSE = 30.0
"""Seconds in which all is left to others after so many answers in a row that were not as they should be."""
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
                self._require(self._got == self.end + self.order.size)
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
        self._require(head.status == 200 and head.length == order.size)
        return head

    @staticmethod
    def _require(usual: bool) -> None:
        if not usual:
            raise Unreachable("is not what was asked for")


class Lanes:
    """All of them, for one thread."""

    def __init__(
        self,
        wholes: Wholes,
        came: Callable[[Order, Entry, memoryview], None],
        otherwise: Callable[[Order], object],
        apart: Callable[[Callable[[], None]], object],
    ) -> None:
        """`otherwise` fetches a file in another way, `apart` does what takes long; both by other threads."""
        self._wholes = wholes
        self._came = came
        self._otherwise = otherwise
        self._apart = apart
        self._poll = select.epoll()
        self._bell = os.eventfd(0, os.EFD_CLOEXEC)
        """Rung by who has begun a connection, or could not."""
        self._dialled: deque[socket.socket | None] = deque()
        self._dialling = 0
        self._not_before = 0.0
        self._unusual = 0
        """Answers in a row that were none."""
        self._usual_after = 0.0
        self._lanes: dict[int, Lane] = {}
        self._idle: list[Lane] = []
        self._todo: deque[Order] = deque()

    def run(self, line: socket.socket, ordered: Callable[[], list[Order] | None]) -> None:
        """Until `ordered`, which is asked whenever there is something on the line, says that there will be no more."""
        self._poll.register(line, select.EPOLLIN)
        self._poll.register(self._bell, select.EPOLLIN)
        try:
            while self._hear(ordered):
                self._begin()
                self._look()
        finally:
            for lane in self._lanes.values():
                lane.close()
            self._poll.close()

    def _hear(self, ordered: Callable[[], list[Order] | None]) -> bool:
        """False if nothing will be ordered any more."""
        for descriptor, _ in self._poll.poll(_LOOK):
            if lane := self._lanes.get(descriptor):
                self._heard(lane)
            elif descriptor == self._bell:
                self._connected()
            else:
                orders = ordered()
                if orders is None:
                    return False
                self._todo.extend(orders)
        return True

    def _heard(self, lane: Lane) -> None:
        order, wanted = lane.order, lane.wanted
        try:
            head = lane.take()
        except (OSError, ValueError):
            self._unusual += lane.order is not None
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
        self._unusual = 0
        if head.closes:
            self._drop(lane)
        else:
            self._idle.append(lane)

    def _begin(self) -> None:
        while self._todo:
            if self._unusual >= _UNUSUAL:
                self._unusual, self._usual_after = 0, time.monotonic() + _PAUSE
            if time.monotonic() < self._usual_after:
                self._give_up()
            elif self._idle:
                self._ask(self._todo.popleft())
            else:
                self._dial()
                return

    def _ask(self, order: Order) -> None:
        wanted = order.entry
        try:
            request = self._wholes.request(wanted.path)
        except OSError:
            # Such as for a name that no object can have.
            self._otherwise(order)
            return
        lane = self._idle.pop()
        try:
            lane.ask(order, wanted, request, time.monotonic())
        except OSError:
            self._drop(lane)

    def _dial(self) -> None:
        """Another connection, if there may be more and one could be had lately."""
        waiting = time.monotonic() < self._not_before
        if waiting and not self._lanes and not self._dialling:
            self._give_up()
        elif not waiting and len(self._lanes) + self._dialling < AT_ONCE and self._dialling < len(self._todo):
            self._dialling += 1
            self._apart(self._call)

    def _call(self) -> None:
        """By another thread, as nobody knows how long it takes."""
        line = None
        with suppress(OSError):
            line = self._wholes.dialled()
        self._dialled.append(line)
        os.eventfd_write(self._bell, 1)

    def _connected(self) -> None:
        os.eventfd_read(self._bell)
        while self._dialled:
            line = self._dialled.popleft()
            self._dialling -= 1
            if line is None:
                self._not_before = time.monotonic() + _AGAIN
                continue
            line.setblocking(False)
            lane = self._lanes[line.fileno()] = Lane(line)
            self._poll.register(line, select.EPOLLIN)
            lane.since = time.monotonic()
            self._idle.append(lane)

    def _give_up(self) -> None:
        """Those do it who can tell why it cannot be done."""
        while self._todo:
            self._otherwise(self._todo.popleft())

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
