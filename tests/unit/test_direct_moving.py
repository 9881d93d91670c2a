"""Files of a place in a program: what becomes of them when they are moved, and when they are very large."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest.mock import patch

import pytest

from pf_backends.errors import Unsupported
from pf_backends.memory.backend import LIKE_OBJECTS, MemoryBackend
from pf_fuse.direct.files import DirectFiles
from pf_fuse.direct.known import Known
from pf_fuse.direct.reading import Content
from pf_fuse.direct.writing import NewFile
from pf_fuse.fetching.settings import FetchSettings
from pf_fuse.pages.cache import CacheSettings, PageCache


@pytest.fixture
def backend() -> MemoryBackend:
    return MemoryBackend(capabilities=LIKE_OBJECTS)


@pytest.fixture
def files(backend: MemoryBackend, tmp_path: Path) -> Iterator[DirectFiles]:
    cache = PageCache(CacheSettings([str(tmp_path / "cache")]))
    made = DirectFiles(backend, cache, FetchSettings(), Known(0.0, time.monotonic))
    yield made
    made.end()


def test_a_file_that_is_moved_to_where_it_is_stays(files: DirectFiles, backend: MemoryBackend) -> None:
    """Where nothing can be renamed it would be copied onto itself, and removed."""
    backend.put("d/f", b"some")
    files.move("d/f", "d/f")
    assert bytes(backend.fetch("d/f", limit=10)[1]) == b"some"
    with pytest.raises(FileNotFoundError):
        files.move("nothing", "nothing")


def test_what_the_kernel_does_not_read_at_once_is_read_all_the_same(
    files: DirectFiles, backend: MemoryBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads less than 2 GiB at once, which is too much for a test."""
    body = bytes(range(256)) * 40
    backend.put("f", body)
    content = files.open(backend.stat("f"))
    content.read(0, len(body))
    read = os.preadv

    def read_some(descriptor: int, into: Sequence[memoryview], offset: int) -> int:
        return read(descriptor, [into[0][:1000]], offset)

    monkeypatch.setattr(os, "preadv", read_some)
    into = bytearray(len(body) - 100)
    assert content.read_into(100, memoryview(into)) == len(into)
    assert into == body[100:]
    content.close()


def test_a_copy_that_fails_leaves_nothing_open(files: DirectFiles, backend: MemoryBackend) -> None:
    """Neither copies by itself, nor has a folder for the copy."""
    backend.put("f", b"some")

    def refuse(operation: str, path: str) -> None:
        if operation == "copy":
            raise Unsupported(errno.ENOTSUP, "not here", path)

    backend.before = refuse

    def refuse_writing(_path: str) -> NewFile:
        raise PermissionError(errno.EACCES, "not there")

    close, closed = Content.close, list[Content]()

    def closing(content: Content) -> None:
        closed.append(content)
        close(content)

    with (
        patch.object(Content, "close", closing),
        patch.object(files, "write", refuse_writing),
        pytest.raises(PermissionError),
    ):
        files.copy("f", "folder/f")
    assert len(closed) == 1
