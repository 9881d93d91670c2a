"""What every backend promises of files that are read."""

from __future__ import annotations

import errno
import threading

import pytest

from pf_backends.entries import Kind
from pf_backends.errors import Changed
from pf_backends.port import Backend
from support.backend_places import content, read

BODY = bytes(range(256)) * 40


def test_a_file_is_as_it_was_written(backend: Backend) -> None:
    written = backend.put("a", BODY)
    assert (written.path, written.kind, written.size) == ("a", Kind.FILE, len(BODY))
    assert written.version
    assert backend.stat("a") == written
    entry, body = backend.fetch("a", limit=len(BODY))
    assert (entry, body) == (written, BODY)


def test_an_empty_file_is_a_file(backend: Backend) -> None:
    written = backend.put("empty", b"")
    assert backend.stat("empty") == written
    assert backend.fetch("empty", limit=0) == (written, b"")
    assert read(backend, "empty", 0, 10) == b""
    assert read(backend, "empty", 5, 10, version=written.version) == b""


@pytest.mark.parametrize(
    ("offset", "size"), [(0, 1), (0, 10_240), (1, 300), (10_239, 1), (10_000, 1000), (10_240, 1), (99_999, 10), (5, 0)]
)
def test_a_range_is_what_lies_there(backend: Backend, offset: int, size: int) -> None:
    version = backend.put("a", BODY).version
    assert read(backend, "a", offset, size) == BODY[offset : offset + size]
    assert read(backend, "a", offset, size, version=version) == BODY[offset : offset + size]


def test_memory_behind_the_end_of_a_file_stays_as_it_was(backend: Backend) -> None:
    backend.put("a", b"abc")
    into = bytearray(b"-" * 8)
    assert backend.read("a", 1, memoryview(into)) == 2
    assert into == b"bc------"


def test_another_version_is_not_read(backend: Backend) -> None:
    first = backend.put("a", b"one")
    second = backend.put("a", b"two")
    assert first.version != second.version
    with pytest.raises(Changed):
        read(backend, "a", 0, 3, version=first.version)
    assert read(backend, "a", 0, 3, version=second.version) == b"two"


def test_who_reads_a_version_never_sees_two(backend: Backend) -> None:
    size, stop = 200_000, threading.Event()
    backend.put("a", b"0" * size)
    seen = set()

    def rewrite() -> None:
        for turn in range(1, 40):
            backend.put("a", str(turn % 10).encode() * size)
        stop.set()

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        while not stop.is_set():
            version = backend.stat("a").version
            try:
                body = read(backend, "a", 0, size, version=version)
            except Changed:
                continue
            assert len(body) == size
            assert len(set(body)) == 1
            seen.add(body[0])
    finally:
        writer.join()
    assert content(backend, "a") == b"9" * size


def test_what_is_larger_than_the_limit_is_not_fetched(backend: Backend) -> None:
    backend.put("a", BODY)
    with pytest.raises(OSError, match="a") as refused:
        backend.fetch("a", limit=len(BODY) - 1)
    assert refused.value.errno == errno.EFBIG


def test_where_there_is_nothing_nothing_is_read(backend: Backend) -> None:
    for ask in (
        lambda: backend.stat("no"),
        lambda: read(backend, "no", 0, 1),
        lambda: backend.fetch("no", limit=1),
        lambda: backend.remove("no"),
        lambda: backend.attributes("no"),
        lambda: backend.remove_folder("no"),
    ):
        with pytest.raises(FileNotFoundError) as missing:
            ask()
        assert missing.value.filename == "no"


def test_a_folder_is_not_read(backend: Backend) -> None:
    backend.make_folder("f")
    with pytest.raises(OSError, match="f"):
        read(backend, "f", 0, 1)
    with pytest.raises(OSError, match="f"):
        backend.fetch("f", limit=1)


@pytest.mark.parametrize("path", ["../a", "/a", "a//b", "a/./b", "a/../b", "a/", ".", "a\0b"])
def test_what_is_no_path_leads_nowhere(backend: Backend, path: str) -> None:
    for ask in (
        lambda: backend.stat(path),
        lambda: backend.list(path),
        lambda: read(backend, path, 0, 1),
        lambda: backend.put(path, b""),
        lambda: backend.make_folder(path),
        lambda: backend.remove(path),
        lambda: backend.begin(path),
    ):
        with pytest.raises(OSError, match="no path") as refused:
            ask()
        assert refused.value.errno == errno.EINVAL


def test_large_files_come_back_whole(backend: Backend) -> None:
    body = bytes(range(251)) * 80_000
    version = backend.put("large", body).version
    assert read(backend, "large", 0, len(body) + 1, version=version) == body
    assert content(backend, "large") == body
