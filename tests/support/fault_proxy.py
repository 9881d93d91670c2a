"""A proxy that stands before a server and does what networks do."""

from __future__ import annotations

import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """What happens to a connection."""

    DELAY = "delay"
    STALL = "stall"
    RESET = "reset"
    CUT = "cut"
    """It ends, as if all had been said."""
    FLIP = "flip"
    ANSWER = "answer"
    """The proxy answers by itself, and hangs up."""


@dataclass(frozen=True)
class Fault:
    """What happens, and after how many bytes of what the server says."""

    kind: Kind
    after: int = 0
    seconds: float = 0.1
    answer: bytes = b""


WORDS = b"<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"
HEAD = b"HTTP/1.1 400 Bad Request\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
EXPIRED = Fault(Kind.ANSWER, answer=HEAD % len(WORDS) + WORDS)
"""As object stores say that keys have expired."""


@dataclass
class FaultProxy:
    """Each connection takes the next fault of the plan, then `always`; without, all goes well."""

    target: int
    plan: deque[Fault] = field(default_factory=deque)
    """Set by `next`."""
    always: Fault | None = None
    connections: int = 0
    met: threading.Event = field(default_factory=threading.Event)
    """Set once a fault has begun amid what the server says."""

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._ended = threading.Event()
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def next(self, *faults: Fault) -> None:
        """Ends all connections; those that follow take these faults."""
        self.plan = deque(faults)
        self.met.clear()
        for each in list(self._open):
            _end(each)
        self._open.clear()

    def close(self) -> None:
        self._ended.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in list(self._open):
            _end(each)

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            fault = self.plan.popleft() if self.plan else self.always
            self._open.add(client)
            if fault is not None and fault.kind is Kind.ANSWER:
                threading.Thread(target=_answer, args=(client, fault.answer), daemon=True).start()
                continue
            server = socket.create_connection(("127.0.0.1", self.target))
            self._open.add(server)
            threading.Thread(target=_pump, args=(client, server, lambda data: [data]), daemon=True).start()
            down = _Trouble(fault, client, self._ended, self.met)
            threading.Thread(target=_pump, args=(server, client, down), daemon=True).start()


class _Trouble:
    """What becomes of the bytes that a server says."""

    def __init__(
        self, fault: Fault | None, client: socket.socket, ended: threading.Event, met: threading.Event
    ) -> None:
        self._fault = fault
        self._client = client
        self._ended = ended
        self._met = met
        self._seen = 0

    def __call__(self, data: bytes) -> Iterator[bytes]:
        before, self._seen = self._seen, self._seen + len(data)
        fault = self._fault
        if fault is None or not before <= fault.after < self._seen:
            yield data
            return
        here = fault.after - before
        yield data[:here]
        self._met.set()
        match fault.kind:
            case Kind.DELAY:
                self._ended.wait(fault.seconds)
                yield data[here:]
            case Kind.STALL:
                self._ended.wait()
                raise ConnectionError
            case Kind.RESET:
                self._client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                raise ConnectionError
            case Kind.CUT:
                raise ConnectionError
            case Kind.FLIP:
                yield bytes([data[here] ^ 4]) + data[here + 1 :]


def _pump(source: socket.socket, target: socket.socket, through: Callable[[bytes], Iterator[bytes]]) -> None:
    try:
        while data := source.recv(65536):
            for piece in through(data):
                target.sendall(piece)
    except OSError:
        pass
    finally:
        # Closing alone would not wake the pump of the other direction; a reset is sent by closing alone.
        _end(source)
        _end(target)


def _answer(client: socket.socket, answer: bytes) -> None:
    with suppress(OSError):
        client.recv(65536)
        client.sendall(answer)
        client.shutdown(socket.SHUT_WR)
        while client.recv(65536):
            continue
    client.close()


def _end(each: socket.socket) -> None:
    with suppress(OSError):
        lingers, seconds = struct.unpack("ii", each.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8))
        # As long as somebody waits for the other side, closing alone sends nothing.
        each.shutdown(socket.SHUT_RDWR if not lingers or seconds else socket.SHUT_RD)
    each.close()


@contextmanager
def fault_proxy(target: int) -> Iterator[FaultProxy]:
    proxy = FaultProxy(target)
    yield proxy
    proxy.close()
