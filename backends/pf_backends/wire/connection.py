"""One connection of HTTP/1.1, over which one request goes after another.

Bytes of a body go from the kernel straight into the memory of whoever asked: one call takes as many as are to come. So
the socket blocks, and it is the kernel that keeps the time.
"""

from __future__ import annotations

import socket
import ssl
import struct
import time
from collections.abc import Sequence
from contextlib import suppress

from pf_backends.errors import why_unconnected
from pf_backends.reach import Place
from pf_backends.wire.messages import Answer, Broken, Endpoint, Head, Request, TooLong, parse_head

_FIRST = 4096
"""Bytes asked for before it is known how many come: small, since those of the body are copied once more."""
_END = b"\r\n\r\n"
_MOST_HEAD = 1 << 16
_JOINED = 1 << 16
"""Bodies up to here go out in one piece with the head."""
_MOST_REFUSAL = 1 << 20
"""Bytes of an answer that says why something is not done."""
_TLS_RECORD = 1 << 14
"""Bytes that come at once."""
_INFORMATION = range(100, 200)


class Connection:
    """Used by one thread at a time; anybody may `abort` it."""

    def __init__(self, connected: socket.socket, stall: float) -> None:
        self._socket = connected
        self._tls = isinstance(connected, ssl.SSLSocket)
        self._whole = 0 if self._tls else socket.MSG_WAITALL
        self._look = 0 if self._tls else socket.MSG_PEEK
        self._stall = self._patience = stall
        self._deadline = 0.0
        self._early = memoryview(b"")
        """Bytes that came along with the head."""
        self._room = bytearray(_FIRST)
        self.used = 0
        """Answers so far."""
        self.reusable = False
        """The answer ended where it said, and the other side goes on listening."""
        self.idle_since = 0.0
        self._set_patience(stall)

    def exchange(self, request: Request, deadline: float) -> Answer:
        """Asks and waits for the answer. Raises Broken; the connection is of no use then."""
        self._deadline = deadline
        try:
            self._send(request)
            head = self._head()
            while head.status in _INFORMATION:
                head = self._head()
            answer = self._answer(request, head)
        except (OSError, ValueError) as error:
            if isinstance(error, Broken):
                raise
            raise Broken(str(error) or type(error).__name__) from None
        self.used += 1
        self.reusable = (
            not head.closes and not self._early and (request.bodiless or head.chunked or head.length is not None)
        )
        return answer

    def abort(self) -> None:
        """Wakes whoever waits for an answer, who finds it broken."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with suppress(OSError):
            self._socket.close()

    def _send(self, request: Request) -> None:
        body = memoryview(request.body)
        self._wait_at_most()
        try:
            if body.nbytes <= _JOINED:
                self._socket.sendall(request.head + bytes(body) if body.nbytes else request.head)
            else:
                self._socket.sendall(request.head)
                self._send_body(body.cast("B"))
        except BlockingIOError:
            raise Broken(f"takes nothing for {self._patience:.1f} s") from None
        except (BrokenPipeError, ConnectionResetError):
            # Who does not want to hear the rest may have said why before it hung up.
            if not body.nbytes:
                raise

    def _send_body(self, body: memoryview) -> None:
        """In pieces, so that the deadline is seen to pass."""
        for start in range(0, len(body), 1 << 23):
            self._wait_at_most()
            self._socket.sendall(body[start : start + (1 << 23)])

    def _head(self) -> Head:
        raw = bytes(self._early)
        while (end := raw.find(_END)) < 0:
            if len(raw) > _MOST_HEAD:
                raise Broken("the answer begins with too many lines", answered=True)
            raw += self._some(raw)
        self._early = memoryview(raw)[end + len(_END) :]
        return parse_head(raw[:end])

    def _some(self, before: bytes) -> memoryview:
        """What has come, but as little as can be of what follows the head: that goes where it is wanted, uncopied."""
        room = memoryview(self._room)
        count = self._receive(room, self._look, answered=bool(before))
        if not count:
            raise Broken("hung up" if before or self.used else "hung up without a word", answered=bool(before))
        if not self._look:
            return room[:count]
        end = (before + room[:count]).find(_END)
        wanted = count if end < 0 else end + len(_END) - len(before)
        return room[: self._receive(room[:wanted], 0, answered=True)]

    def _answer(self, request: Request, head: Head) -> Answer:
        if request.bodiless:
            return Answer(head.status, head.headers)
        into = request.into if head.successful else None
        if into is None:
            body = self._body(head, request.most if head.successful else _MOST_REFUSAL)
            return Answer(head.status, head.headers, 0, body)
        if head.length is None:
            body = self._body(head, len(into))
            into[: len(body)] = body
            return Answer(head.status, head.headers, len(body))
        if head.length > len(into):
            raise TooLong(f"sends {head.length} bytes, not {len(into)}", answered=True, head=head)
        return Answer(head.status, head.headers, self._fill(into[: head.length], head))

    def _body(self, head: Head, most: int) -> bytes:
        left = head.length
        if left is None:
            return self._chunks(most) if head.chunked else self._all(most)
        if left > most:
            raise TooLong(f"sends {left} bytes, more than {most}", answered=True, head=head)
        early, self._early = bytes(self._early[:left]), self._early[left:]
        # A body that comes in one piece is not copied.
        pieces, left = [early] if early else [], left - len(early)
        while left:
            pieces.append(self._piece(left, head))
            left -= len(pieces[-1])
        return b"".join(pieces)

    def _piece(self, most: int, head: Head) -> bytes:
        self._wait_at_most()
        try:
            piece = self._socket.recv(min(most, _TLS_RECORD) if self._tls else most, self._whole)
        except OSError as error:
            raise self._broken(error, answered=True, head=head) from None
        if not piece:
            raise Broken("hung up amid an answer", answered=True, head=head)
        return piece

    def _fill(self, into: memoryview, head: Head | None = None) -> int:
        """Fills memory with what comes. Broken, with the number of bytes, if not all comes."""
        count = min(len(self._early), len(into))
        into[:count], self._early = self._early[:count], self._early[count:]
        while count < len(into):
            got = self._receive(into[count:], self._whole, answered=True, count=count, head=head)
            if not got:
                raise Broken("hung up amid an answer", answered=True, count=count, head=head)
            count += got
        return count

    def _receive(
        self, into: memoryview, flags: int, *, answered: bool, count: int = 0, head: Head | None = None
    ) -> int:
        self._wait_at_most()
        try:
            return self._socket.recv_into(into, 0, flags)
        except OSError as error:
            raise self._broken(error, answered=answered, count=count, head=head) from None

    def _broken(self, error: OSError, *, answered: bool, count: int = 0, head: Head | None = None) -> Broken:
        silent = isinstance(error, BlockingIOError | TimeoutError)
        why = f"says nothing for {self._patience:.1f} s" if silent else str(error)
        return Broken(why, answered=answered, count=count, head=head)

    def _chunks(self, most: int) -> bytes:
        body = bytearray()
        while size := _chunk_size(self._line()):
            if len(body) + size > most:
                raise TooLong(f"sends more than {most} bytes", answered=True)
            piece = bytearray(size + 2)
            self._fill(memoryview(piece))
            body += piece[:size]
        while self._line():
            continue
        return bytes(body)

    def _line(self) -> bytes:
        line = bytearray()
        byte = memoryview(bytearray(1))
        while not line.endswith(b"\r\n"):
            if len(line) > _FIRST:
                raise Broken("sends a line that does not end", answered=True)
            self._fill(byte)
            line += byte
        return bytes(line[:-2])

    def _all(self, most: int) -> bytes:
        """What comes until the other side hangs up."""
        body = bytearray(self._early)
        self._early = memoryview(b"")
        while count := self._receive(memoryview(self._room), 0, answered=True):
            body += self._room[:count]
            if len(body) > most:
                raise TooLong(f"sends more than {most} bytes", answered=True)
        return bytes(body)

    def _wait_at_most(self) -> None:
        """Lets the next call end when nothing happens for too long, or at the deadline."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise Broken("was given no more time")
        patience = min(self._stall, left)
        if patience < self._patience or self._patience < self._stall:
            self._set_patience(patience)

    def _set_patience(self, seconds: float) -> None:
        self._patience = seconds
        if self._tls:
            self._socket.settimeout(seconds)
            return
        whole = int(seconds)
        limit = struct.pack("ll", whole, max(1, int((seconds - whole) * 1e6)))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)


def connected(
    places: Sequence[Place], context: ssl.SSLContext | None, endpoint: Endpoint, *, stall: float, patience: float
) -> Connection:
    """A connection to the first of the places that takes one. Raises Broken."""
    made = dialled(places, context, endpoint, patience=patience)
    if context is None:
        made.settimeout(None)
    return Connection(made, stall)


def dialled(
    places: Sequence[Place], context: ssl.SSLContext | None, endpoint: Endpoint, *, patience: float
) -> socket.socket:
    """A socket that is connected to the first of the places that takes one, and waits for so long. Raises Broken."""
    why = "has no address"
    for place in places:
        try:
            plain = plainly_dialled(place, patience)
            return plain if context is None else context.wrap_socket(plain, server_hostname=endpoint.host)
        except OSError as error:
            why = _told(error)
    raise Broken(f"cannot be connected to: {why}")


def plainly_dialled(place: Place, patience: float) -> socket.socket:
    """A socket that is connected to a place, and waits for so long."""
    family, where = place
    plain = socket.socket(family, socket.SOCK_STREAM)
    try:
        plain.settimeout(patience)
        plain.connect(where)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError:
        plain.close()
        raise
    return plain


def _told(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not to be trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"it does not speak TLS as it should: {error.reason or error}"
    return why_unconnected(error)


def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    try:
        size = int(digits, 16)
    except ValueError:
        size = -1
    if size < 0:
        raise Broken("sends pieces without a size", answered=True)
    return size
