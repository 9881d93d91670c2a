"""Connections to the machines of a cluster, over which messages of Protocol Buffers and plain bytes go.

The sockets block, and it is the kernel that keeps the time: one call takes as many bytes as are to come.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from pf_backends.errors import Unreachable, why_unconnected
from pf_backends.reach import Reach
from pf_backends.wire.connection import plainly_dialled
from pf_backends.wire.messages import Broken

M = TypeVar("M", bound=Message)
Machine = tuple[str, int]
"""A host, or its address, and a port."""

_CONNECT = 10.0
"""Seconds until a machine has answered."""
_STALL = 20.0
"""Seconds for which nothing is heard, or taken, in the middle of something."""
_MOST_MESSAGE = 1 << 27
"""Bytes; lists of a thousand long names have less than a MiB."""
_PIECES = 512
"""Pieces of memory that are sent with one call; kernels take 1024."""


class Line:
    """Used by one thread at a time; anybody may `abort` it. What it raises is Broken, and it is of no use then."""

    def __init__(self, plain: socket.socket) -> None:
        self._socket = plain
        self._deadline = 0.0
        self._patience = 0.0
        self.idle_since = 0.0

    def until(self, deadline: float) -> None:
        """What follows must be done by then."""
        self._deadline = deadline

    def send(self, *pieces: memoryview | bytes) -> None:
        left = [memoryview(piece) for piece in pieces if len(piece)]
        while left:
            self._wait_at_most()
            try:
                count = self._socket.sendmsg(left[:_PIECES])
            except OSError as error:
                raise self._broken(error) from None
            left = _after(left, count)

    def fill(self, *into: memoryview) -> None:
        """Fills one piece of memory after the other with what comes."""
        left = [piece for piece in into if len(piece)]
        while left:
            self._wait_at_most()
            try:
                count = self._socket.recvmsg_into(left, 0, socket.MSG_WAITALL)[0]
            except OSError as error:
                raise self._broken(error) from None
            if not count:
                raise Broken("hung up")
            left = _after(left, count)

    def take(self, size: int) -> bytes:
        into = bytearray(size)
        self.fill(memoryview(into))
        return bytes(into)

    def frame(self) -> bytes:
        """Bytes that come after their number."""
        return self.take(_sized(int.from_bytes(self.take(4), "big")))

    def message(self, kind: type[M]) -> M:
        """A message that comes after its length, which is a number of few bytes."""
        size, shift = 0, 0
        while True:
            (byte,) = self.take(1)
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return parsed(kind, self.take(_sized(size)))
            _sized(size)

    def abort(self) -> None:
        """Wakes whoever waits for an answer, who finds it broken."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.close()

    def _wait_at_most(self) -> None:
        """Lets the next call end when nothing happens for too long, or at the deadline."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise Broken("was given no more time")
        patience = min(_STALL, left)
        if patience < self._patience or self._patience < _STALL:
            self._patience = patience
            limit = struct.pack("ll", int(patience), max(1, int(patience % 1 * 1e6)))
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)

    def _broken(self, error: OSError) -> Broken:
        if isinstance(error, BlockingIOError):
            return Broken(f"is silent for {self._patience:.1f} s")
        return Broken(error.strerror or str(error))


class Lines:
    """Connections to many machines, kept for the next who needs one. For many threads."""

    def __init__(self, reach: Reach, kept: float) -> None:
        self._reach = reach
        self._kept = kept
        """Seconds after which one that nobody used is not trusted to be there still."""
        self._guard = threading.Lock()
        self._idle: defaultdict[Machine, list[Line]] = defaultdict(list)
        self._busy: set[Line] = set()
        self._closed = False

    def idle(self, machine: Machine) -> Line | None:
        """One that was used before, if there is such."""
        old: list[Line] = []
        with self._guard:
            found, idle = None, self._idle[machine]
            while idle and found is None:
                line = idle.pop()
                if time.monotonic() - line.idle_since < self._kept:
                    self._busy.add(line)
                    found = line
                else:
                    old.append(line)
        for line in old:
            line.close()
        return found

    def new(self, machine: Machine, deadline: float) -> Line:
        """Raises Broken, and PermissionError as `Reach` does."""
        line = Line(self._connected(machine, min(_CONNECT, deadline - time.monotonic())))
        with self._guard:
            if not self._closed:
                self._busy.add(line)
                return line
        line.close()
        raise Unreachable("the backend was closed")

    def keep(self, machine: Machine, line: Line) -> None:
        """Nothing is on its way over it: others may use it."""
        line.idle_since = time.monotonic()
        with self._guard:
            self._busy.discard(line)
            if not self._closed:
                self._idle[machine].append(line)
                return
        line.close()

    def drop(self, line: Line) -> None:
        with self._guard:
            self._busy.discard(line)
        line.close()

    def close(self) -> None:
        with self._guard:
            self._closed = True
            idle, busy = [line for lines in self._idle.values() for line in lines], list(self._busy)
            self._idle.clear()
        for line in idle:
            line.close()
        for line in busy:
            line.abort()

    def _connected(self, machine: Machine, patience: float) -> socket.socket:
        if patience <= 0:
            raise Broken("was given no more time")
        why = "has no address"
        for place in self._reach.places(*machine):
            try:
                plain = plainly_dialled(place, patience)
            except OSError as error:
                why = why_unconnected(error)
            else:
                plain.settimeout(None)
                return plain
        raise Broken(f"{machine[0]}:{machine[1]} cannot be connected to: {why}")


def told(message: Message) -> bytes:
    """A message, after its length."""
    raw = message.SerializeToString()
    size, prefix = len(raw), bytearray()
    while size > 0x7F:
        prefix.append(size & 0x7F | 0x80)
        size >>= 7
    prefix.append(size)
    return bytes(prefix) + raw


def parsed(kind: type[M], raw: bytes) -> M:
    try:
        return kind.FromString(raw)
    except DecodeError:
        raise Broken("says what cannot be understood", answered=True) from None


def _sized(size: int) -> int:
    if size > _MOST_MESSAGE:
        raise Broken(f"sends a message of {size} bytes", answered=True)
    return size


def _after(pieces: Sequence[memoryview], count: int) -> list[memoryview]:
    """What is left of pieces of memory behind so many bytes."""
    for index, piece in enumerate(pieces):
        if count < len(piece):
            return [piece[count:], *pieces[index + 1 :]]
        count -= len(piece)
    return []
