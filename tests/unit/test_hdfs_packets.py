"""What goes over connections to data nodes."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_backends.hdfs.blocks import Packets
from pf_backends.hdfs.checksums import Checks, checks
from pf_backends.hdfs.hadoop_pb2 import Begun, Block, Checksum, PacketHead
from pf_backends.hdfs.lines import Line, told
from pf_backends.wire.messages import Broken

CRC32C = Checks(kind=2, size=512)


@pytest.fixture
def ends() -> Iterator[tuple[Line, socket.socket]]:
    one, other = socket.socketpair()
    line = Line(one)
    line.until(time.monotonic() + 5)
    yield line, other
    line.close()
    other.close()


def packet(how: Checks, offset: int, data: bytes, *, last: bool = False) -> bytes:
    head = PacketHead(offset=offset, number=0, last=last, size=len(data)).SerializeToString()
    sums = how.of(memoryview(data)) if how.kind else b""
    return (4 + len(sums) + len(data)).to_bytes(4, "big") + len(head).to_bytes(2, "big") + head + sums + data


def sent(how: Checks, body: bytes, offset: int, size: int, each: int) -> bytes:
    """What a data node sends for a range: from where a checked piece begins to where one ends."""
    at, end = offset // how.size * how.size, offset + size
    pieces = []
    while at < end:
        pieces.append(packet(how, at, body[at : min(at + each, -(-end // how.size) * how.size)]))
        at += each
    return b"".join(pieces) + packet(how, at, b"", last=True)


@given(
    kind=st.integers(0, 2),
    offset=st.integers(0, 5000),
    size=st.integers(1, 5000),
    each=st.sampled_from([512, 1024, 4096]),
)
def test_any_range_of_a_block_is_put_together(kind: int, offset: int, size: int, each: int) -> None:
    body = bytes(range(251)) * 40
    how, into = Checks(kind, 512), bytearray(size)
    one, other = socket.socketpair()
    line = Line(one)
    line.until(time.monotonic() + 5)
    writer = threading.Thread(target=other.sendall, args=(sent(how, body, offset, size, each),))
    writer.start()
    Packets(line, how, offset, memoryview(into)).take_all()
    writer.join()
    assert into == body[offset : offset + size]
    assert other.recv(100) == b"\x02\x08" + bytes([6 if kind else 0])
    line.close()
    other.close()


@given(flipped=st.integers(0, 2 * 1024 * 8 - 1))
def test_no_flipped_bit_of_a_block_is_believed(flipped: int) -> None:
    body = bytearray(range(256)) * 8
    raw = bytearray(sent(CRC32C, bytes(body), 0, 2048, 1024))
    first = 6 + 25 + 8
    where = first + flipped // 8 + (first if flipped // 8 >= 1024 else 0)
    raw[where] ^= 1 << flipped % 8
    one, other = socket.socketpair()
    line = Line(one)
    line.until(time.monotonic() + 5)
    other.sendall(raw)
    into = bytearray(2048)
    with pytest.raises(Broken, match="checksum") as broken:
        Packets(line, CRC32C, 0, memoryview(into)).take_all()
    assert into[: broken.value.count] == body[: broken.value.count]
    line.close()
    other.close()


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"\xff\xff\xff\xff\x00\x19", "too large"),
        (b"\x00\x00\x00\x04\xff\xff", "too large"),
        (packet(CRC32C, 512, b"x" * 512), "other bytes"),
        (packet(CRC32C, 0, b"")[:3] + b"\x08" + packet(CRC32C, 0, b"")[4:], "another size"),
        (b"\x00\x00\x00\x04\x00\x02\x0f\xff", "cannot be understood"),
        (packet(CRC32C, 0, b"", last=True), "too few"),
        (b"\x00\x00", "hung up"),
    ],
)
def test_what_is_no_answer_is_refused(ends: tuple[Line, socket.socket], raw: bytes, why: str) -> None:
    line, other = ends
    other.sendall(raw)
    other.shutdown(socket.SHUT_WR)
    with pytest.raises(Broken, match=why):
        Packets(line, CRC32C, 0, memoryview(bytearray(100))).take_all()


@given(name=st.text(max_size=300))
def test_a_message_comes_as_it_was_told(name: str) -> None:
    one, other = socket.socketpair()
    line = Line(one)
    line.until(time.monotonic() + 5)
    block = Block(pool=name, id=1, generation=2)
    other.sendall(told(block))
    assert line.message(Block) == block
    line.close()
    other.close()


def test_a_length_that_does_not_end_is_refused(ends: tuple[Line, socket.socket]) -> None:
    line, other = ends
    other.sendall(b"\xff" * 20)
    with pytest.raises(Broken, match="a message of"):
        line.message(Begun)


def test_silence_ends_at_the_deadline(ends: tuple[Line, socket.socket]) -> None:
    line, _ = ends
    line.until(time.monotonic() + 0.05)
    with pytest.raises(Broken, match="silent"):
        line.take(1)
    with pytest.raises(Broken, match="no more time"):
        line.take(1)


def test_an_unknown_checksum_is_refused() -> None:
    with pytest.raises(Broken, match="not known"):
        checks(Checksum(kind=7, size=512))
