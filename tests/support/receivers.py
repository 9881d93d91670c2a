"""A receiver of webhooks that fails and dawdles, and what it was told."""

from __future__ import annotations

import asyncio
import hmac
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256

from support.waiting import until

SECRET = b"a secret that both know"
PATHS = ("/good", "/fails", "/dawdles")
"""One that answers well, one that answers 500 first, and one that answers nothing first."""
DAWDLING = 1.0
"""Seconds; longer than whoever calls waits."""
ANSWERS = {
    200: b"HTTP/1.1 200 OK\r\n\r\n",
    500: b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n",
}


@dataclass(frozen=True)
class Heard:
    """One call."""

    body: bytes
    signature: str
    answer: int
    """0 if there was none."""


@dataclass
class Receiver:
    """Answers by the path."""

    port: int = 0
    open: int = 0
    """Calls under way."""
    heard: dict[tuple[str, str], list[Heard]] = field(default_factory=lambda: defaultdict(list))
    """By path and id of the notice."""

    def is_told(self, path: str, id_: str) -> bool:
        """Whether it was told something, and has said so."""
        return any(each.answer == 200 for each in self.heard[path, id_])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        # Whoever calls may be killed at any time.
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = dict(line.split(": ", 1) for line in lines if line)
            body, path = await reader.readexactly(int(headers["Content-Length"])), head.split()[1]
            calls = self.heard[path, headers["PaddleFlow-Notice-Id"]]
            answer = 200 if calls or path == "/good" else 500 if path == "/fails" else 0
            calls.append(Heard(body, headers.get("PaddleFlow-Signature", ""), answer))
            await asyncio.sleep(0 if answer else DAWDLING)
            writer.write(ANSWERS.get(answer, b""))
            await writer.drain()
        writer.close()
        self.open -= 1


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    async with server:
        yield receiver
        await until(lambda: not receiver.open)


def is_genuine(heard: Heard) -> bool:
    """Whether it was signed with the secret, whenever that was."""
    stamp, _, digest = heard.signature.removeprefix("t=").partition(",v1=")
    return hmac.compare_digest(hmac.new(SECRET, stamp.encode() + b"." + heard.body, sha256).hexdigest(), digest)
