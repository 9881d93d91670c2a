"""What the store itself gives to whoever asks with bare sockets: the ceiling of every mount."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import count

from bench.fuse_data import BIG, BIG_PATH, MIB, SMALL, SMALL_PATHS
from bench.fuse_work import together
from pf_backends.s3.signing import EMPTY, Call, Signer, path_text
from support.s3_servers import BUCKET, KEYS, S3Server

PARTS = (4 * MIB, 8 * MIB)
CONNECTIONS = 4
PROCESSES = 4
_HEAD = 4096


def big(server: S3Server, folder: str) -> float:
    """Bytes a second of the big file, by parts over several connections; the best of several sizes."""
    return max(_big(server, f"{folder}/{BIG_PATH}", part) for part in (*PARTS, *PARTS))


def small(server: S3Server, folder: str) -> float:
    """Small files a second."""
    keys = [f"{folder}/{path}" for path in SMALL_PATHS[: 4000 // PROCESSES * PROCESSES]]

    def work(process: int) -> None:
        _at_once(server, [_request(server, key) for key in keys[process::PROCESSES]], SMALL)

    return len(keys) / min(together(work, PROCESSES) for _ in range(2))


def _big(server: S3Server, key: str, part: int) -> float:
    requests = [_request(server, key, f"bytes={start}-{start + part - 1}") for start in range(0, BIG, part)]
    begun = time.perf_counter()
    _at_once(server, requests, part)
    return BIG / (time.perf_counter() - begun)


def _at_once(server: S3Server, requests: Sequence[bytes], size: int) -> None:
    """All requests over several connections, one after another on each."""
    turns, failed = count(), list[BaseException]()

    def run() -> None:
        try:
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                memory = memoryview(bytearray(size + _HEAD))
                for request in _mine(requests, turns):
                    assert _fetch(connection, request, memory) == size
        except (OSError, AssertionError) as error:
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed[0]


def _mine(requests: Sequence[bytes], turns: Iterator[int]) -> Iterator[bytes]:
    while (turn := next(turns)) < len(requests):
        yield requests[turn]


def _fetch(connection: socket.socket, request: bytes, memory: memoryview) -> int:
    connection.sendall(request)
    got = 0
    while not (end := bytes(memory[:got]).find(b"\r\n\r\n") + 4) > 3:
        got += _received(connection, memory[got:_HEAD], 0)
    head = bytes(memory[:end])
    assert head.split(None, 2)[1] in (b"200", b"206"), head
    found = re.search(rb"(?i)\ncontent-length: *(\d+)", head)
    assert found, head
    size = int(found[1])
    while got < end + size:
        got += _received(connection, memory[got : end + size], socket.MSG_WAITALL)
    return size


def _received(connection: socket.socket, memory: memoryview, flags: int) -> int:
    got = connection.recv_into(memory, 0, flags)
    assert got, "the store hung up"
    return got


def _request(server: S3Server, key: str, part: str = "") -> bytes:
    path = path_text(f"/{BUCKET}/{key}")
    call = Call("GET", server.settings.endpoint.authority, path, "", EMPTY, {})
    lines = Signer(server.settings.region).lines(call, KEYS, time.time())
    wanted = f"range: {part}\r\n" if part else ""
    return f"GET {path} HTTP/1.1\r\n{lines}{wanted}\r\n".encode()
