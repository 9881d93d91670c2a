"""Calls webhooks, by HTTP/1.1 without redirects.

The address that is called is one that was looked at: between a look and a call of a library that resolves the name
anew, the name could come to mean another.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

from pf_kit.addresses import Allowed, permitted
from pf_pipeline.notices.addresses import Endpoint
from pf_pipeline.notices.ports import NoAnswer, Refused

PATIENCE = 15.0
"""Seconds for the whole of an attempt."""
_LONGEST_LINE = 4096
"""Bytes of an answer that are looked at."""
_VERSIONS = (b"HTTP/1.0", b"HTTP/1.1")


class HttpWebhooks:
    """Fulfils `Webhooks`."""

    def __init__(self, *, allowed: Allowed, tls: ssl.SSLContext) -> None:
        self._allowed = allowed
        self._tls = tls

    async def post(self, endpoint: Endpoint, headers: Mapping[str, str], body: bytes) -> int:
        try:
            async with asyncio.timeout(PATIENCE):
                addresses = await self._addresses(endpoint)
                async with self._connected(endpoint, addresses) as (reader, writer):
                    writer.write(_request(endpoint, headers, body))
                    await writer.drain()
                    return _status(await reader.readline())
        except TimeoutError:
            raise NoAnswer(f"{endpoint.authority} did not answer within {PATIENCE:g} s") from None
        except (OSError, ValueError) as error:
            raise NoAnswer(f"{endpoint.authority} cannot be called: {error}") from None

    async def _addresses(self, endpoint: Endpoint) -> Sequence[str]:
        """The addresses of a host. Raises Refused if one of them may not be called."""
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
        except (socket.gaierror, UnicodeError):
            raise NoAnswer(f"no address is known of {endpoint.host}") from None
        addresses = [str(each[4][0]) for each in found]
        for address in addresses:
            if not permitted(endpoint.host, address, self._allowed):
                raise Refused(
                    f"{endpoint.host} has the address {address}, which is not public; an administrator can allow it"
                )
        return addresses

    @asynccontextmanager
    async def _connected(
        self, endpoint: Endpoint, addresses: Sequence[str]
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await self._first(endpoint, addresses)
        try:
            yield reader, writer
        finally:
            # The rest of the answer is nobody's business, however long it is.
            writer.transport.abort()

    async def _first(
        self, endpoint: Endpoint, addresses: Sequence[str]
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to the first address that can be reached."""
        for address in addresses[:-1]:
            with suppress(ConnectionError):
                return await self._connection(endpoint, address)
        return await self._connection(endpoint, addresses[-1])

    async def _connection(self, endpoint: Endpoint, address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        tls, name = (self._tls, endpoint.host) if endpoint.secure else (None, None)
        return await asyncio.open_connection(address, endpoint.port, ssl=tls, server_hostname=name, limit=_LONGEST_LINE)


def _request(endpoint: Endpoint, headers: Mapping[str, str], body: bytes) -> bytes:
    fields = {
        "Host": endpoint.authority,
        "User-Agent": "PaddleFlow",
        "Connection": "close",
        "Content-Length": str(len(body)),
        **headers,
    }
    lines = [f"POST {endpoint.target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    return "\r\n".join(lines).encode("ascii") + body


def _status(line: bytes) -> int:
    """That of the first line of an answer. Raises ValueError if it is none."""
    version, _, rest = line.partition(b" ")
    status = rest[:3]
    if version not in _VERSIONS or not status.isdigit() or len(status) != 3:
        raise ValueError("the answer is not HTTP")
    return int(status)
