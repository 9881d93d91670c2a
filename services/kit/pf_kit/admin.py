"""A small HTTP port for machines that look after the service: ``/metrics``, ``/healthz`` and ``/readyz``."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from pf_kit.start import CannotStart

READ_TIMEOUT = 5.0
"""Seconds in which a request must have come."""
MAX_HEAD = 8192
"""Bytes of a request; ours are much shorter."""
MAX_PORT = 65_535
PLAIN = "text/plain; charset=utf-8"

_ADDRESS = re.compile(r"(?P<host>\[[0-9A-Fa-f:.%]+\]|[^\s:/\[\]]*):(?P<port>[0-9]{1,5})")


class AdminPort:
    """Answers; it has no secrets and changes nothing, but listens on loopback unless told otherwise."""

    def __init__(self, registry: CollectorRegistry, ready: Callable[[], bool]) -> None:
        self._registry = registry
        self._ready = ready

    @asynccontextmanager
    async def listening(self, address: str) -> AsyncIterator[int]:
        """Listens on ``host:port`` for the block, or ``:port`` for all addresses; gives the port, chosen if it is 0."""
        async with await self._listen(address) as server:
            yield server.sockets[0].getsockname()[1]

    async def _listen(self, address: str) -> asyncio.Server:
        match = _ADDRESS.fullmatch(address)
        if match is None or int(match["port"]) > MAX_PORT:
            raise CannotStart(f"the admin address {address!r} is not host:port, for example 127.0.0.1:9090")
        host, port = match["host"].strip("[]"), int(match["port"])
        try:
            return await asyncio.start_server(self._serve, host or None, port, limit=MAX_HEAD)
        except OSError as error:
            raise CannotStart(
                f"cannot listen on {address} for metrics and health: {error.strerror}; choose another admin address"
            ) from error

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Whoever does not ask properly, or leaves early, gets nothing.
        with suppress(TimeoutError, ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(READ_TIMEOUT):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(head))
                await writer.drain()
        writer.close()

    def _answer(self, head: bytes) -> bytes:
        method, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if method != b"GET":
            return _response(HTTPStatus.METHOD_NOT_ALLOWED, PLAIN, b"only GET\n")
        match path:
            case b"/metrics":
                return _response(HTTPStatus.OK, CONTENT_TYPE_LATEST, generate_latest(self._registry))
            case b"/healthz":
                return _response(HTTPStatus.OK, PLAIN, b"ok\n")
            case b"/readyz" if self._ready():
                return _response(HTTPStatus.OK, PLAIN, b"ready\n")
            case b"/readyz":
                return _response(HTTPStatus.SERVICE_UNAVAILABLE, PLAIN, b"not ready\n")
            case _:
                return _response(HTTPStatus.NOT_FOUND, PLAIN, b"/metrics, /healthz and /readyz are here\n")


def _response(status: HTTPStatus, content_type: str, body: bytes) -> bytes:
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {content_type}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
