"""Backends for tests."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from pf_backends.port import Backend
from support.backend_places import in_folder, in_memory, in_store, like_objects
from support.s3_servers import S3Server, seaweed, versity


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


@pytest.fixture(params=["seaweed", "versity"])
def s3_server(request: pytest.FixtureRequest) -> S3Server:
    """One object store after the other."""
    server: S3Server = request.getfixturevalue(f"{request.param}_server")
    return server


@pytest.fixture(params=["memory", "memory-objects", "local", "local-plain", "seaweed", "versity"])
def backend(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
    """An empty backend of each kind."""
    match request.param:
        case "local-plain":
            # As on an old kernel, and on a disk that knows no files without a name.
            monkeypatch.setattr("pf_backends.local.beneath.open_beneath", unable)
            monkeypatch.setattr("pf_backends.local.writing._nameless", lambda _folder, _mode: None)
            place = in_folder(tmp_path)
        case "memory":
            place = in_memory()
        case "memory-objects":
            place = like_objects()
        case "local":
            place = in_folder(tmp_path)
        case store:
            place = in_store(request.getfixturevalue(f"{store}_server"))
    with place as made:
        yield made
