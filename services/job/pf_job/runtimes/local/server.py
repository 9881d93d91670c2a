"""The socket of a runner: who may speak, what they say, and what is still to be told to them."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable, Iterable
from contextlib import suppress

from pf_job.runtimes.local.frames import Inbox, Message, encode
from pf_job.runtimes.local.loop import READ, WRITE, Loop

MOST_UNSENT = 32 * 2**20
"""Bytes that may wait for a client that does not read; then it is cut off, and asks again when it can."""
PIECE = 2**18
CREDENTIALS = struct.Struct("3i")


class Connection:
    """A client."""

    def __init__(self, loop: Loop, wire: socket.socket, heed: Callable[[Connection, Message], None]) -> None:
        self._loop = loop
        self._wire = wire
        self._heed = heed
        self._inbox = Inbox()
        self._unsent = bytearray()
        self.is_open = True
        self.watch: int | None = None
        """The call by which it asked to be told of replicas."""
        wire.setblocking(False)
        loop.watch(wire.fileno(), self._ready)

    def tell(self, message: Message) -> None:
        if self.is_open:
            self._unsent += encode(message)
            self._send()

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            self._loop.unwatch(self._wire.fileno())
            self._wire.close()

    def _ready(self, events: int) -> None:
        try:
            if events & WRITE:
                self._send()
            if events & ~WRITE:
                self._receive()
        except (OSError, ValueError):
            self.close()

    def _receive(self) -> None:
        data = self._wire.recv(PIECE)
        if not data:
            self.close()
        for message in self._inbox.feed(data):
            self._heed(self, message)

    def _send(self) -> None:
        had_some = bool(self._unsent)
        try:
            with suppress(BlockingIOError):
                while self._unsent:
                    del self._unsent[: self._wire.send(self._unsent[:PIECE])]
        except OSError:
            self.close()
            return
        if len(self._unsent) > MOST_UNSENT:
            self.close()
        elif had_some:
            self._loop.change(self._wire.fileno(), READ | WRITE if self._unsent else READ)


class Server:
    """Lets clients of the same user in."""

    def __init__(self, loop: Loop, listener: socket.socket, heed: Callable[[Connection, Message], None]) -> None:
        self._loop = loop
        self._listener = listener
        self._heed = heed
        self._connections: list[Connection] = []
        listener.setblocking(False)
        loop.watch(listener.fileno(), self._accept)

    def watchers(self) -> Iterable[Connection]:
        self._connections = [connection for connection in self._connections if connection.is_open]
        return [connection for connection in self._connections if connection.watch is not None]

    def _accept(self, _: int) -> None:
        with suppress(OSError):
            wire, _ = self._listener.accept()
            if _user_of(wire) in (0, os.geteuid()):
                self._connections = [connection for connection in self._connections if connection.is_open]
                self._connections.append(Connection(self._loop, wire, self._heed))
            else:
                wire.close()


def _user_of(wire: socket.socket) -> int:
    credentials = wire.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    return int(CREDENTIALS.unpack(credentials)[1])
