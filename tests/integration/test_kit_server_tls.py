"""TLS and mutual TLS, with certificates made here."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from paddleflow.channel import Tls, open_channel_without_retries
from paddleflow.problems import Unavailable
from pf_kit.start import CannotStart
from pf_kit.tls import TlsSettings, client_tls
from support.certificates import Authority, Issued
from support.kit_client import Running, problem, running, settings
from support.kit_echo.app import Echo
from support.kit_echo.stubs import echo_pb2, echo_pb2_grpc


@dataclass(frozen=True)
class Files:
    """An authority, and the files that a server reads."""

    authority: Authority
    folder: Path

    def write(self, issued: Issued) -> None:
        (self.folder / "cert.pem").write_bytes(issued.certificate)
        (self.folder / "key.pem").write_bytes(issued.key)

    def settings(self, *, mutual: bool) -> TlsSettings:
        (self.folder / "ca.pem").write_bytes(self.authority.certificate)
        ca = self.folder / "ca.pem"
        return TlsSettings(self.folder / "cert.pem", self.folder / "key.pem", ca if mutual else None, ca)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    made = Files(Authority("ours"), tmp_path)
    made.write(made.authority.issue(2))
    return made


@pytest.fixture
def socket() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="pf") as folder:
        yield Path(folder) / "s"


async def hello(echo: Running, tls: Tls | None) -> str:
    async with open_channel_without_retries(echo.server.addresses[0], tls) as channel:
        stub = echo_pb2_grpc.EchoServiceStub(channel)
        reply: str = (await stub.Hello(echo_pb2.HelloRequest(text="hi"), timeout=5)).text
        return reply


async def test_a_server_proves_itself(files: Files) -> None:
    trusting = Tls(files.authority.certificate)
    async with running(Echo(settings(tls=files.settings(mutual=False))), trusting) as echo:
        assert await hello(echo, trusting) == "hi"
        assert isinstance(await problem(hello(echo, Tls(Authority("theirs").certificate))), Unavailable)
        assert isinstance(await problem(hello(echo, None)), Unavailable)


async def test_with_mutual_tls_a_client_must_prove_itself_too(files: Files) -> None:
    mine, theirs = files.authority.issue(3), Authority("theirs").issue(3)
    proven = Tls(files.authority.certificate, mine.certificate, mine.key)
    async with running(Echo(settings(tls=files.settings(mutual=True))), proven) as echo:
        assert await hello(echo, proven) == "hi"
        assert isinstance(await problem(hello(echo, Tls(files.authority.certificate))), Unavailable)
        foreign = Tls(files.authority.certificate, theirs.certificate, theirs.key)
        assert isinstance(await problem(hello(echo, foreign)), Unavailable)


async def test_a_server_can_call_its_like(files: Files) -> None:
    tls = files.settings(mutual=True)
    async with running(Echo(settings(tls=tls)), client_tls(tls)) as echo:
        assert await hello(echo, client_tls(tls)) == "hi"
    assert client_tls(TlsSettings()) is None


def test_whoever_names_whom_to_trust_never_calls_without_encryption(files: Files) -> None:
    path = files.folder / "trusted.pem"
    path.write_bytes(files.authority.certificate)
    assert client_tls(TlsSettings(ca=path)) == Tls(ca=files.authority.certificate)


async def test_a_new_certificate_is_used_without_a_restart(files: Files) -> None:
    before = Tls(files.authority.certificate)
    async with running(Echo(settings(tls=files.settings(mutual=False))), before) as echo:
        assert await hello(echo, before) == "hi"
        renewed = Authority("renewed")
        files.write(renewed.issue(4))
        assert await hello(echo, Tls(renewed.certificate)) == "hi"
        assert isinstance(await problem(hello(echo, before)), Unavailable)


async def test_while_certificates_are_replaced_the_old_ones_serve(files: Files) -> None:
    trusting = Tls(files.authority.certificate)
    async with running(Echo(settings(tls=files.settings(mutual=False))), trusting) as echo:
        (files.folder / "cert.pem").unlink()
        assert await hello(echo, trusting) == "hi"


async def test_a_server_listens_on_a_unix_socket_and_a_port_at_once(files: Files, socket: Path) -> None:
    addresses = (f"unix:{socket}", "127.0.0.1:0")
    async with running(Echo(settings(listen=addresses, tls=files.settings(mutual=True)))) as echo:
        assert echo.server.addresses[0] == f"unix:{socket}"
        assert int(echo.server.addresses[1].split(":")[1]) > 0
        assert await hello(echo, None) == "hi"


async def test_a_socket_left_behind_by_a_killed_server_is_no_obstacle(socket: Path) -> None:
    left = settings(listen=(f"unix:{socket}",))
    async with running(Echo(left)):
        socket.rename(socket.with_name("kept"))
    socket.with_name("kept").rename(socket)
    async with running(Echo(left)) as echo:
        assert await hello(echo, None) == "hi"


async def test_a_port_that_is_taken_is_told() -> None:
    async with running(Echo(settings())) as echo:
        with pytest.raises(CannotStart, match=echo.server.addresses[0]):
            async with running(Echo(settings(listen=(echo.server.addresses[0],)))):
                pass
