"""Connections to one endpoint, kept open for the next request."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from pf_backends.errors import Unreachable
from pf_backends.reach import Place, Reach
from pf_backends.wire.connection import Connection, connected, dialled
from pf_backends.wire.messages import Answer, Broken, Endpoint, Request

_KEPT = 30.0
"""Seconds after which a connection that nobody used is not trusted to be there still."""
_LOOKED_UP = 10.0
"""Seconds for which the addresses of a name are remembered, unless they cannot be connected to."""


@dataclass(frozen=True, slots=True)
class Patience:
    """For how long somebody is waited for, in seconds."""

    connect: float = 10.0
    stall: float = 20.0
    """Nothing is heard, or taken, in the middle of a request."""


PATIENCE = Patience()


class Pool:
    """The connections. For many threads."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        reach: Reach,
        context: ssl.SSLContext | None,
        patience: Patience,
        most: int,
    ) -> None:
        self._endpoint = endpoint
        self._reach = reach
        self._context = context
        self._patience = patience
        self._turns: SimpleQueue[None] = SimpleQueue()
        for _ in range(most):
            self._turns.put(None)
        self._guard = threading.Lock()
        self._idle: list[Connection] = []
        self._busy: set[Connection] = set()
        self._known: tuple[float, Sequence[Place]] | None = None
        """Until when addresses are remembered, and which."""
        self._closed = False

    def exchange(self, request: Request, deadline: float) -> Answer:
        """Asks over a connection that is there, or a new one. Raises Broken, and PermissionError as `Reach` does."""
        try:
            self._turns.get(timeout=max(0.0, deadline - time.monotonic()))
        except Empty:
            raise Broken("all connections are in use") from None
        try:
            return self._answered(request, deadline)
        finally:
            self._turns.put(None)

    def dialled(self) -> socket.socket:
        """A connection that is the caller's own. Raises Broken, and PermissionError as `Reach` does."""
        self._require_open()
        with self._places() as places:
            return dialled(places, self._context, self._endpoint, patience=self._patience.connect)

    def close(self) -> None:
        with self._guard:
            self._closed = True
            idle, busy = self._idle, list(self._busy)
            self._idle = []
        for connection in idle:
            connection.close()
        for connection in busy:
            connection.abort()

    def _answered(self, request: Request, deadline: float) -> Answer:
        connection = self._taken(deadline)
        old = connection.used > 0
        try:
            return self._asked(connection, request, deadline)
        except Broken as broken:
            if broken.answered or not old or self._closed:
                raise
        # It had been left by the other side, as happens when nothing is asked for a while.
        return self._asked(self._new(deadline), request, deadline)

    def _asked(self, connection: Connection, request: Request, deadline: float) -> Answer:
        try:
            answer = connection.exchange(request, deadline)
        except BaseException:
            self._gone(connection)
            raise
        if connection.reusable:
            self._kept(connection)
        else:
            self._gone(connection)
        return answer

    def _taken(self, deadline: float) -> Connection:
        with self._guard:
            now = time.monotonic()
            while self._idle:
                connection = self._idle.pop()
                if now - connection.idle_since < _KEPT:
                    self._busy.add(connection)
                    return connection
                connection.close()
        return self._new(deadline)

    def _new(self, deadline: float) -> Connection:
        self._require_open()
        left = deadline - time.monotonic()
        if left <= 0:
            raise Broken("was given no more time")
        stall, patience = self._patience.stall, min(self._patience.connect, left)
        with self._places() as places:
            connection = connected(places, self._context, self._endpoint, stall=stall, patience=patience)
        with self._guard:
            self._busy.add(connection)
        return connection

    @contextmanager
    def _places(self) -> Iterator[Sequence[Place]]:
        """The addresses, which are looked up anew after they could not be connected to."""
        known, now = self._known, time.monotonic()
        if known is None or known[0] < now:
            known = self._known = now + _LOOKED_UP, self._reach.places(self._endpoint.host, self._endpoint.port)
        try:
            yield known[1]
        except Broken:
            self._known = None
            raise

    def _kept(self, connection: Connection) -> None:
        now = connection.idle_since = time.monotonic()
        with self._guard:
            self._busy.discard(connection)
            superfluous = connection
            if not self._closed:
                self._idle.append(connection)
                # Those that were used last are used again; one after another the others go.
                if now - self._idle[0].idle_since < _KEPT:
                    return
                superfluous = self._idle.pop(0)
        superfluous.close()

    def _gone(self, connection: Connection) -> None:
        with self._guard:
            self._busy.discard(connection)
        connection.close()

    def _require_open(self) -> None:
        if self._closed:
            raise Unreachable("the backend was closed")
