"""What networks do to an object store is right in the end, or a clean error in time."""

from __future__ import annotations

import random
import secrets
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import pytest

from pf_backends.entries import Condition
from pf_backends.errors import Changed, Unreachable
from pf_backends.s3.backend import S3Backend
from pf_backends.s3.settings import S3Settings
from pf_backends.wire.messages import Endpoint
from pf_backends.wire.pool import Patience
from support.backend_places import content, listed, names, read
from support.fault_proxy import Fault, FaultProxy, Kind, fault_proxy
from support.s3_servers import S3Server

SIZE = 300_000
BODY = bytes(range(256)) * (SIZE // 256) + b"end"
HEAD = 200
"""Bytes that are surely of the head of an answer."""
SLOWER = b"<Error><Code>SlowDown</Code><Message>Slower, please</Message></Error>"
UNAVAILABLE = b"HTTP/1.1 503 Slow Down\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s" % (len(SLOWER), SLOWER)


@pytest.fixture
def settings(s3_server: S3Server) -> S3Settings:
    return replace(s3_server.settings, prefix=f"faults/{secrets.token_hex(8)}")


@pytest.fixture
def straight(settings: S3Settings) -> Iterator[S3Backend]:
    """Without a proxy."""
    backend = S3Backend(settings)
    yield backend
    backend.close()


@pytest.fixture
def proxy(s3_server: S3Server) -> Iterator[FaultProxy]:
    with fault_proxy(s3_server.port) as made:
        yield made


@pytest.fixture
def crooked(settings: S3Settings, proxy: FaultProxy) -> Iterator[S3Backend]:
    """The same, through the proxy; it has seen no fault yet."""
    with through(settings, proxy) as backend:
        backend.check()
        yield backend


@contextmanager
def through(
    settings: S3Settings, proxy: FaultProxy, *, deadline: float = 10.0, attempts: int = 8, stall: float = 0.2
) -> Iterator[S3Backend]:
    endpoint = Endpoint("127.0.0.1", proxy.port, tls=False)
    patience = Patience(connect=2.0, stall=stall)
    crooked = replace(settings, endpoint=endpoint, patience=patience, deadline=deadline, attempts=attempts)
    backend = S3Backend(crooked)
    yield backend
    backend.close()


@pytest.mark.parametrize("after", [0, HEAD, SIZE // 2, SIZE])
@pytest.mark.parametrize("kind", [Kind.DELAY, Kind.STALL, Kind.RESET, Kind.CUT])
def test_a_read_that_breaks_off_goes_on(
    straight: S3Backend, crooked: S3Backend, proxy: FaultProxy, kind: Kind, after: int
) -> None:
    version = straight.put("a", BODY).version
    proxy.next(Fault(kind, after), Fault(kind, after // 2))
    assert read(crooked, "a", 0, len(BODY), version=version) == BODY
    proxy.next(Fault(kind, after))
    assert content(crooked, "a") == BODY


@pytest.mark.parametrize("kind", [Kind.STALL, Kind.RESET, Kind.CUT])
def test_what_never_works_fails_in_time(
    straight: S3Backend, settings: S3Settings, proxy: FaultProxy, kind: Kind
) -> None:
    straight.put("a", BODY)
    proxy.always = Fault(kind, 0)
    with through(settings, proxy, deadline=1.0) as backend:
        began = time.monotonic()
        for ask in (lambda: read(backend, "a", 0, 10), lambda: backend.stat("a"), lambda: backend.put("b", b"x")):
            with pytest.raises(Unreachable):
                ask()
        assert time.monotonic() - began < 3 * 1.8
    assert names(listed(straight)) in (["a"], ["a", "b"])


def test_a_store_that_asks_for_time_gets_it(crooked: S3Backend, settings: S3Settings, proxy: FaultProxy) -> None:
    proxy.next(*[Fault(Kind.ANSWER, answer=UNAVAILABLE)] * 3)
    assert content(crooked, crooked.put("a", BODY).path) == BODY
    proxy.always = Fault(Kind.ANSWER, answer=UNAVAILABLE)
    with through(settings, proxy, deadline=2.0, attempts=3) as backend, pytest.raises(Unreachable, match="SlowDown"):
        backend.list("")


def test_a_reader_that_breaks_off_never_goes_on_with_another_version(
    straight: S3Backend, settings: S3Settings, proxy: FaultProxy
) -> None:
    straight.put("a", b"1" * SIZE)
    proxy.next(Fault(Kind.STALL, SIZE // 2))
    with through(settings, proxy, deadline=30.0, stall=3.0) as crooked, ThreadPoolExecutor(1) as reader:
        reading = reader.submit(read, crooked, "a", 0, SIZE)
        assert proxy.met.wait(20)
        straight.put("a", b"2" * SIZE)
        with pytest.raises(Changed):
            reading.result()


@pytest.mark.parametrize("after", [HEAD * 10, SIZE // 2])
def test_a_flipped_bit_is_seen_where_the_store_tells_a_checksum(
    straight: S3Backend, crooked: S3Backend, proxy: FaultProxy, after: int
) -> None:
    straight.put("a", BODY)
    proxy.next(Fault(Kind.FLIP, after))
    assert content(crooked, "a") == BODY


@pytest.mark.parametrize("after", [0, 9, 20, 60, 100, 150])
def test_a_flipped_bit_in_a_head_is_an_error_or_nothing(
    straight: S3Backend, crooked: S3Backend, proxy: FaultProxy, after: int
) -> None:
    version = straight.put("a", BODY).version
    proxy.next(Fault(Kind.FLIP, after))
    try:
        assert read(crooked, "a", 0, len(BODY), version=version) == BODY
    except OSError:
        assert read(crooked, "a", 0, len(BODY), version=version) == BODY


def test_a_write_whose_answer_was_lost_was_done(straight: S3Backend, crooked: S3Backend, proxy: FaultProxy) -> None:
    assert crooked.capabilities.conditional
    proxy.next(Fault(Kind.RESET, 0))
    written = crooked.put("a", BODY, condition=Condition(absent=True))
    assert straight.stat("a").version == written.version
    proxy.next(Fault(Kind.CUT, 0))
    again = crooked.put("a", b"two", condition=Condition(version=written.version))
    assert straight.stat("a").version == again.version
    with pytest.raises(Changed):
        crooked.put("a", b"three", condition=Condition(version=written.version))


def test_an_upload_whose_end_was_lost_was_finished(straight: S3Backend, crooked: S3Backend, proxy: FaultProxy) -> None:
    upload = straight.begin("a")
    parts = [straight.send(upload, 1, BODY)]
    proxy.next(Fault(Kind.RESET, 0))
    assert crooked.finish(upload, parts, condition=Condition(absent=True)).size == len(BODY)
    assert content(straight, "a") == BODY


def test_closing_ends_calls_under_way(straight: S3Backend, settings: S3Settings, proxy: FaultProxy) -> None:
    straight.put("a", BODY)
    proxy.always = Fault(Kind.STALL, 1000)
    backend = S3Backend(replace(settings, endpoint=Endpoint("127.0.0.1", proxy.port, tls=False)))
    failed: list[str] = []

    def reading() -> None:
        try:
            read(backend, "a", 0, SIZE)
        except Unreachable as error:
            failed.append(str(error))

    reader = threading.Thread(target=reading)
    reader.start()
    assert proxy.met.wait(20)
    backend.close()
    reader.join(20)
    assert "closed" in failed[0]


@pytest.mark.timeout(120)
def test_whatever_happens_what_is_read_is_right(straight: S3Backend, settings: S3Settings, proxy: FaultProxy) -> None:
    version = straight.put("a", BODY).version
    chance, right = random.Random(7), 0
    kinds = [Kind.DELAY, Kind.RESET, Kind.CUT, Kind.CUT, Kind.RESET]
    with through(settings, proxy, deadline=3.0) as backend:
        for _ in range(60):
            proxy.next(*[Fault(chance.choice(kinds), chance.randrange(SIZE), 0.01) for _ in range(4)])
            offset = chance.randrange(SIZE)
            size = chance.randrange(1, SIZE)
            began = time.monotonic()
            try:
                assert read(backend, "a", offset, size, version=version) == BODY[offset : offset + size]
                right += 1
            except Unreachable:
                pass
            assert time.monotonic() - began < 4
    assert right > 30
