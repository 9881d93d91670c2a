"""Who answers questions goes on when as many files are open as may be."""

from __future__ import annotations

import gc
import os
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from pf_fuse.control import Control
from pf_fuse.holder.client import HolderClient
from pf_fuse.holder.messages import Adopt, Welcome, receive
from pf_fuse.metrics import port
from support.waiting import wait_until


@contextmanager
def no_more_files() -> Iterator[None]:
    """Nothing can be opened."""
    # What others have left would free descriptors meanwhile.
    gc.collect()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most, held = max(int(each.name) for each in Path("/proc/self/fd").iterdir()), list[int]()
    resource.setrlimit(resource.RLIMIT_NOFILE, (most + 1, hard))
    try:
        with suppress(OSError):
            while True:
                held.append(os.dup(0))
        yield
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_metrics_are_told_after_that(caplog: pytest.LogCaptureFixture) -> None:
    listening = port.listen(("127.0.0.1", 0))
    with socket.socket() as asking:
        with no_more_files():
            # Who waits for a caller already has a descriptor for him.
            port.serve(listening, lambda: "up 1\n")
            wait_until(lambda: "nobody can ask for metrics" in caplog.text)
        asking.connect(listening.getsockname())
        asking.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        asking.settimeout(10.0)
        assert asking.recv(15) == b"HTTP/1.1 200 OK"


def test_questions_are_answered_after_that(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    control = Control(tmp_path, {"stats": lambda _: {"up": 1}})
    control.begin()
    try:
        with socket.socket(socket.AF_UNIX) as asking:
            with no_more_files():
                asking.connect(str(tmp_path / "control"))
                wait_until(lambda: "nobody can ask about the mount" in caplog.text)
            asking.sendall(b'{"ask": "stats"}\n')
            asking.settimeout(10.0)
            assert asking.recv(100) == b'{"up": 1}\n'
    finally:
        control.end()


def test_the_next_holder_is_found_after_that(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with (
        Path(os.devnull).open() as device,
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as next_one,
    ):
        holder, peer = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        client = HolderClient(str(tmp_path / "s"), peer, device.fileno(), Welcome(45, 0, 0, False, False, "kept"))
        client.listen()
        next_one.bind(str(tmp_path / "s"))
        next_one.listen()
        next_one.settimeout(10.0)
        with no_more_files():
            holder.shutdown(socket.SHUT_RDWR)
            wait_until(lambda: "cannot be reached: Too many open files" in caplog.text)
        holder.close()
        with next_one.accept()[0] as returning:
            told, handed = receive(returning)
            client.ended()
    assert isinstance(told, Adopt)
    assert told.kept == "kept"
    assert handed is not None
    os.close(handed)
