"""Empty backends of each kind, for what all of them promise."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from pf_backends.entries import Entry, Page
from pf_backends.hdfs.backend import HdfsBackend
from pf_backends.local.backend import LocalBackend
from pf_backends.memory.backend import EVERYTHING, LIKE_OBJECTS, MemoryBackend
from pf_backends.port import Backend
from pf_backends.s3.backend import S3Backend
from pf_backends.sftp.backend import SftpBackend
from support.hdfs_server import HdfsServer
from support.s3_servers import S3Server
from support.sftp_server import SftpServer


@contextmanager
def in_memory() -> Iterator[Backend]:
    yield MemoryBackend(capabilities=EVERYTHING)


@contextmanager
def like_objects() -> Iterator[Backend]:
    yield MemoryBackend(capabilities=LIKE_OBJECTS)


@contextmanager
def in_folder(folder: Path) -> Iterator[Backend]:
    backend = LocalBackend(str(folder))
    yield backend
    backend.close()


@contextmanager
def in_store(server: S3Server) -> Iterator[Backend]:
    backend = S3Backend(replace(server.settings, prefix=f"tests/{secrets.token_hex(8)}"))
    backend.check()
    yield backend
    backend.close()


@contextmanager
def over_ssh(server: SftpServer, folder: Path) -> Iterator[Backend]:
    backend = SftpBackend(replace(server.settings, path=str(folder).strip("/")))
    backend.check()
    yield backend
    backend.close()


@contextmanager
def in_cluster(server: HdfsServer) -> Iterator[Backend]:
    root, folder = HdfsBackend(server.settings), f"tests-{secrets.token_hex(8)}"
    root.make_folder(folder)
    backend = HdfsBackend(replace(server.settings, path=folder))
    backend.check()
    yield backend
    backend.close()
    root.close()


def pages(backend: Backend, folder: str = "", *, limit: int = 1000, deep: bool = False) -> Iterator[Page]:
    """All pages of a list, or of a walk."""
    ask = backend.walk if deep else backend.list
    rest = ""
    while True:
        page = ask(folder, rest=rest, limit=limit)
        yield page
        rest = page.rest
        if not rest:
            return


def listed(backend: Backend, folder: str = "", *, limit: int = 1000) -> list[Entry]:
    return [entry for page in pages(backend, folder, limit=limit) for entry in page.entries]


def walked(backend: Backend, folder: str = "", *, limit: int = 1000) -> list[Entry]:
    return [entry for page in pages(backend, folder, limit=limit, deep=True) for entry in page.entries]


def names(entries: list[Entry]) -> list[str]:
    return sorted(entry.path for entry in entries)


def content(backend: Backend, path: str) -> bytes:
    return backend.fetch(path, limit=1 << 30)[1]


def read(backend: Backend, path: str, offset: int, size: int, *, version: str = "") -> bytes:
    into = bytearray(size)
    count = backend.read(path, offset, memoryview(into), version=version)
    return bytes(into[:count])


def put_all(backend: Backend, paths: list[str], body: bytes = b"x") -> None:
    """Writes many small files, several at once."""
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(partial(backend.put, body=body), paths))
