"""Backends of a process that has too many files open: that passes, and nothing is refused for good."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pf_backends.errors import Unreachable
from pf_backends.hdfs.backend import HdfsBackend
from pf_backends.hdfs.settings import HdfsSettings
from pf_backends.local.backend import LocalBackend
from pf_backends.port import Backend
from pf_backends.s3.backend import S3Backend
from pf_backends.s3.settings import S3Settings
from pf_backends.sftp.backend import SftpBackend
from pf_backends.sftp.settings import SftpSettings
from pf_backends.wire.messages import Endpoint
from support.full_machine import no_more_files

Open = Callable[[int, Path], Backend]


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def in_store(port: int, _: Path) -> Backend:
    return S3Backend(S3Settings(Endpoint("127.0.0.1", port, tls=False), "bucket", keys=None, attempts=1))


def in_cluster(port: int, _: Path) -> Backend:
    return HdfsBackend(HdfsSettings((("127.0.0.1", port),), "alice", "top", deadline=1.0))


def over_ssh(port: int, _: Path) -> Backend:
    return SftpBackend(SftpSettings("127.0.0.1", port, "alice"))


def in_folder(_: int, folder: Path) -> Backend:
    return LocalBackend(str(folder))


@pytest.mark.parametrize("opened", [in_store, in_cluster, over_ssh, in_folder])
def test_what_cannot_be_opened_just_now_is_tried_again(opened: Open, port: int, tmp_path: Path) -> None:
    # What Python reads the first time that it looks up a name.
    socket.getaddrinfo("127.0.0.1", port)
    with closing(opened(port, tmp_path)) as backend:
        calls: list[Callable[[], Any]] = [lambda: backend.stat("a"), lambda: backend.put("a", b"abc")]
        for call in calls:
            with no_more_files(), pytest.raises(Unreachable, match="too many files are open here"):
                call()
