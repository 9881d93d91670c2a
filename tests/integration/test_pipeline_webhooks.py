"""Webhooks are called over real sockets."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pf_kit.addresses import allowed_of
from pf_pipeline.notices.addresses import endpoint_of
from pf_pipeline.notices.ports import NoAnswer, Refused
from pf_pipeline.notices.webhooks import HttpWebhooks
from support.certificates import Authority

BODY = b'{"run": "run-1"}'


@dataclass
class Receiver:
    """A server that answers what a test wants."""

    answer: bytes
    port: int = 0
    heard: list[bytes] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.heard.append(head + await reader.readexactly(len(BODY)))
        writer.write(self.answer)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def receiving(answer: bytes, tls: ssl.SSLContext | None = None) -> AsyncIterator[Receiver]:
    receiver = Receiver(answer)
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0, ssl=tls)
    receiver.port = server.sockets[0].getsockname()[1]
    async with server:
        yield receiver


def webhooks(*allowed: str) -> HttpWebhooks:
    return HttpWebhooks(allowed=allowed_of(allowed), tls=ssl.create_default_context())


async def test_a_notice_arrives_as_it_was_sent() -> None:
    async with receiving(b"HTTP/1.1 204 No Content\r\n\r\n") as receiver:
        endpoint = endpoint_of(f"http://127.0.0.1:{receiver.port}/hook?a=b")
        assert await webhooks("127.0.0.0/8").post(endpoint, {"PaddleFlow-Notice-Id": "run-1-0"}, BODY) == 204
    (heard,) = receiver.heard
    head, _, body = heard.partition(b"\r\n\r\n")
    assert body == BODY
    assert head.decode().split("\r\n") == [
        "POST /hook?a=b HTTP/1.1",
        f"Host: 127.0.0.1:{receiver.port}",
        "User-Agent: PaddleFlow",
        "Connection: close",
        f"Content-Length: {len(BODY)}",
        "PaddleFlow-Notice-Id: run-1-0",
    ]


async def test_a_redirect_is_not_followed() -> None:
    async with receiving(b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n\r\n") as receiver:
        endpoint = endpoint_of(f"http://127.0.0.1:{receiver.port}/")
        assert await webhooks("127.0.0.1").post(endpoint, {}, BODY) == 302
    assert len(receiver.heard) == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]"])
async def test_nothing_is_sent_where_it_may_not_be(host: str) -> None:
    async with receiving(b"HTTP/1.1 200 OK\r\n\r\n") as receiver:
        endpoint = endpoint_of(f"http://{host}:{receiver.port}/")
        with pytest.raises(Refused, match="which is not public; an administrator can allow it"):
            await webhooks().post(endpoint, {}, BODY)
    assert not receiver.heard


@pytest.mark.parametrize("answer", [b"", b"hello\r\n", b"HTTP/1.1 2\r\n", b"HTTP/1.1 abc\r\n", b"x" * 100_000])
async def test_an_answer_that_is_none_is_no_answer(answer: bytes) -> None:
    async with receiving(answer) as receiver:
        endpoint = endpoint_of(f"http://127.0.0.1:{receiver.port}/")
        with pytest.raises(NoAnswer):
            await webhooks("127.0.0.1").post(endpoint, {}, BODY)


async def test_a_receiver_that_is_away_is_no_answer() -> None:
    async with receiving(b"") as receiver:
        port = receiver.port
    with pytest.raises(NoAnswer, match="cannot be called"):
        await webhooks("127.0.0.1").post(endpoint_of(f"http://127.0.0.1:{port}/"), {}, BODY)


async def test_only_a_certificate_that_somebody_vouches_for_will_do(tmp_path: Path) -> None:
    authority = Authority("tests")
    issued = authority.issue(2)
    (tmp_path / "certificate").write_bytes(issued.certificate)
    (tmp_path / "key").write_bytes(issued.key)
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(tmp_path / "certificate", tmp_path / "key")
    trusting = ssl.create_default_context(cadata=authority.certificate.decode())
    async with receiving(b"HTTP/1.1 200 OK\r\n\r\n", server) as receiver:
        endpoint = endpoint_of(f"https://localhost:{receiver.port}/")
        assert await HttpWebhooks(allowed=allowed_of(["localhost"]), tls=trusting).post(endpoint, {}, BODY) == 200
        with pytest.raises(NoAnswer, match="certificate verify failed"):
            await webhooks("localhost").post(endpoint, {}, BODY)
    assert len(receiver.heard) == 1
