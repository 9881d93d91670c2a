"""Backends for tests."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from pf_backends.port import Backend
from support.backend_places import in_cluster, in_folder, in_memory, in_store, like_objects, over_ssh
from support.hdfs_server import HdfsServer
from support.s3_servers import S3Server, seaweed, versity
from support.sftp_server import SftpServer


def unable(*_: object) -> int:
    raise OSError(errno.ENOSYS, "the kernel is too old")


@pytest.fixture(scope="session")
def seaweed_server() -> Iterator[S3Server]:
    """The SeaweedFS that all tests of a process share; each has a prefix of its own."""
    server = seaweed()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def versity_server() -> Iterator[S3Server]:
    """The versitygw that all tests of a process share; each has a prefix of its own."""
    server = versity()
    yield server
    server.stop()


VERSITY = pytest.param("versity", marks=pytest.mark.timeout(900))
"""The first test with it builds it."""


@pytest.fixture(params=["seaweed", VERSITY])
def s3_server(request: pytest.FixtureRequest) -> S3Server:
    """One object store after the other."""
    server: S3Server = request.getfixturevalue(f"{request.param}_server")
    return server


@pytest.fixture(scope="session")
def sftp_server() -> Iterator[SftpServer]:
    """Files of this machine over SSH; each test has a folder of its own."""
    server = SftpServer()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def hdfs_server() -> Iterator[HdfsServer]:
    """The Hadoop file system that all tests of a process share; each has a folder of its own."""
    server = HdfsServer()
    yield server
    server.stop()


HDFS = pytest.param("hdfs", marks=pytest.mark.timeout(300))
"""The first test with it fetches its programs, and it takes some seconds to start."""
IN_PARTS = ["memory", "memory-objects", "local", "local-plain", "seaweed", VERSITY, HDFS]
WHOLE = ["sftp"]


@pytest.fixture(params=[*IN_PARTS, *WHOLE])
def backend(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
    """An empty backend of each kind."""
    with made(request, tmp_path, monkeypatch) as backend:
        yield backend


@pytest.fixture(params=IN_PARTS)
def parted(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
    """An empty backend of each kind to which files go in parts."""
    with made(request, tmp_path, monkeypatch) as backend:
        yield backend


def made(
    request: pytest.FixtureRequest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> AbstractContextManager[Backend]:
    match request.param:
        case "local-plain":
            # As on an old kernel, and on a disk that knows no files without a name.
            monkeypatch.setattr("pf_backends.local.beneath.open_beneath", unable)
            monkeypatch.setattr("pf_backends.local.writing._nameless", lambda _folder, _mode: None)
            return in_folder(folder)
        case "memory":
            return in_memory()
        case "memory-objects":
            return like_objects()
        case "local":
            return in_folder(folder)
        case "sftp":
            return over_ssh(request.getfixturevalue("sftp_server"), folder)
        case "hdfs":
            return in_cluster(request.getfixturevalue("hdfs_server"))
        case store:
            return in_store(request.getfixturevalue(f"{store}_server"))
