"""What only object stores have: keys, certificates, hosts of buckets."""

from __future__ import annotations

import random
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from pf_backends.entries import Facts
from pf_backends.errors import Unreachable
from pf_backends.reach import Reach
from pf_backends.s3.backend import S3Backend
from pf_backends.s3.settings import Keys, S3Settings
from pf_backends.wire.messages import Endpoint
from support.backend_places import content, listed, names, put_all, read, walked
from support.certificates import Authority
from support.s3_servers import KEYS, PUBLIC, S3Server, caller_of, free_ports, seaweed

Open = Callable[[S3Settings], S3Backend]


@pytest.fixture
def opened() -> Iterator[Open]:
    """Opens backends that are closed after the test."""
    with ExitStack() as stack:

        def opening(settings: S3Settings) -> S3Backend:
            backend = S3Backend(settings)
            stack.callback(backend.close)
            return backend

        yield opening


def test_a_wrong_secret_is_refused_in_the_words_of_the_store(opened: Open, s3_server: S3Server) -> None:
    for keys in (Keys(KEYS.access, "wrong-secret"), Keys("nobody-known", KEYS.secret), None):
        backend = opened(replace(s3_server.settings, keys=keys))
        with pytest.raises(PermissionError) as refused:
            backend.check()
        assert KEYS.secret not in str(refused.value)
        assert "wrong-secret" not in str(refused.value)


def test_a_bucket_that_is_not_there_is_told(opened: Open, s3_server: S3Server) -> None:
    backend = opened(replace(s3_server.settings, bucket="not-there"))
    with pytest.raises(FileNotFoundError, match="NoSuchBucket"):
        backend.check()


def test_a_store_that_is_not_there_is_told_soon(opened: Open, s3_server: S3Server) -> None:
    (port,) = free_ports(1)
    backend = opened(replace(s3_server.settings, endpoint=Endpoint("127.0.0.1", port, tls=False)))
    with pytest.raises(Unreachable, match="refused"):
        backend.check()


def test_secrets_are_not_shown(opened: Open, s3_server: S3Server) -> None:
    settings = replace(s3_server.settings, keys=replace(KEYS, token="a-token"))
    shown = repr(settings) + repr(opened(settings)) + settings.address + repr(caller_of(settings))
    assert not any(secret in shown for secret in (KEYS.access, KEYS.secret, "a-token"))


def test_nobody_in_particular_reads_what_is_public(opened: Open, seaweed_server: S3Server) -> None:
    settings = replace(seaweed_server.settings, bucket=PUBLIC, prefix="open")
    owner, guest = opened(settings), opened(replace(settings, keys=None))
    owner.put("a", b"abc")
    guest.check()
    assert not guest.capabilities.conditional
    assert content(guest, "a") == b"abc"
    with pytest.raises(PermissionError):
        guest.put("b", b"")
    assert names(listed(owner)) == ["a"]


def test_prefixes_do_not_see_each_other(opened: Open, s3_server: S3Server) -> None:
    here, there = (opened(replace(s3_server.settings, prefix=f"walls/{name}")) for name in ("a", "ab"))
    here.put("f/x", b"here")
    there.put("f/x", b"there")
    assert content(here, "f/x") == b"here"
    assert names(walked(here)) == names(walked(there)) == ["f/x"]
    upload = here.begin("u")
    assert list(there.uploads("")) == []
    here.drop(upload)


def test_many_read_at_once(opened: Open, s3_server: S3Server) -> None:
    backend = opened(replace(s3_server.settings, prefix="crowd", connections=8))
    paths = [f"{number:02}" for number in range(24)]
    put_all(backend, paths, b"z" * 50_000)
    with ThreadPoolExecutor(24) as threads:
        assert set(threads.map(lambda path: content(backend, path), paths * 4)) == {b"z" * 50_000}
    backend.close()
    with pytest.raises(Unreachable, match="closed"):
        backend.stat("00")


def test_parts_of_a_large_file_are_read(opened: Open, s3_server: S3Server) -> None:
    backend = opened(replace(s3_server.settings, prefix="large"))
    bodies = [bytes([number]) * (5 << 20) for number in range(3)]
    upload = backend.begin("a")
    entry = backend.finish(upload, [backend.send(upload, number, body) for number, body in enumerate(bodies, 1)])
    whole = b"".join(bodies)
    for offset, size in ((0, 1 << 20), ((5 << 20) - 7, 100), ((10 << 20) + 1, 8 << 20)):
        assert read(backend, "a", offset, size, version=entry.version) == whole[offset : offset + size]
    copied = backend.copy("a", "b")
    assert copied.size == len(whole)
    assert copied == backend.stat("b")


def test_a_file_that_is_too_large_to_be_copied_at_once_keeps_what_it_is_given(
    opened: Open, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pf_backends.s3.copying._MOST_AT_ONCE", 6 << 20)
    monkeypatch.setattr("pf_backends.s3.copying._PART", 5 << 20)
    backend = opened(replace(s3_server.settings, prefix="large"))
    backend.put("a", body := random.Random(7).randbytes(11 << 20), facts=Facts(modified=77))
    changed = backend.set_facts("a", Facts(attributes={"user.colour": b"red"}))
    assert changed == backend.stat("a")
    assert backend.attributes("a") == Facts(modified=77, attributes={"user.colour": b"red"})
    assert content(backend, "a") == body
    backend.copy("a", "b")
    assert (content(backend, "b"), backend.attributes("b")) == (body, backend.attributes("a"))


def test_the_own_network_can_be_closed(opened: Open, s3_server: S3Server) -> None:
    backend = opened(replace(s3_server.settings, reach=Reach(internal=False)))
    with pytest.raises(PermissionError, match="operator"):
        backend.check()


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority("tests")


@pytest.fixture(scope="module")
def tls_server(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    folder: Path = tmp_path_factory.mktemp("tls")
    issued = authority.issue(2)
    (folder / "cert.pem").write_bytes(issued.certificate)
    (folder / "key.pem").write_bytes(issued.key)
    (port,) = free_ports(1)
    more = {"s3.port.https": port, "s3.cert.file": folder / "cert.pem", "s3.key.file": folder / "key.pem"}
    server = seaweed(**{**more, "s3.domainName": "localhost"})
    yield server
    server.stop()


@pytest.fixture
def tls(tls_server: S3Server, authority: Authority) -> S3Settings:
    port = tls_server.more["s3.port.https"]
    assert isinstance(port, int)
    ca = authority.certificate.decode()
    return replace(tls_server.settings, endpoint=Endpoint("127.0.0.1", port, tls=True), ca=ca)


def test_who_trusts_the_authority_speaks_tls(opened: Open, tls: S3Settings) -> None:
    backend = opened(tls)
    backend.check()
    body = bytes(range(256)) * 20_000
    version = backend.put("a", body).version
    assert content(backend, "a") == body
    assert read(backend, "a", 1000, 3_000_000, version=version) == body[1000:3_001_000]


def test_who_does_not_is_told_why(opened: Open, tls: S3Settings) -> None:
    for settings in (replace(tls, ca=""), replace(tls, ca=Authority("other").certificate.decode())):
        backend = opened(replace(settings, attempts=2))
        with pytest.raises(Unreachable, match="certificate is not to be trusted"):
            backend.check()
    unverified = opened(replace(tls, ca="", verify=False))
    unverified.check()
    plain = opened(replace(tls, endpoint=replace(tls.endpoint, tls=False), attempts=2))
    with pytest.raises(OSError, match=r"400|TLS|HTTPS|hung up"):
        plain.check()


def test_a_bucket_can_be_a_host(opened: Open, tls_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    look_up = socket.getaddrinfo

    def here(host: str, *arguments: int, **named: int) -> object:
        asked.append(host)
        return look_up("127.0.0.1", *arguments, **named)

    monkeypatch.setattr(socket, "getaddrinfo", here)
    endpoint = replace(tls_server.settings.endpoint, host="localhost")
    backend = opened(replace(tls_server.settings, endpoint=endpoint, path_style=False, prefix="hosted"))
    backend.check()
    backend.put("a b", b"abc")
    assert content(backend, "a b") == b"abc"
    assert backend.copy("a b", "c").size == 3
    assert names(listed(backend)) == ["a b", "c"]
    assert set(asked) == {"tests.localhost"}
