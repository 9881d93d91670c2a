"""What is uploaded is read in such a way that a disk that fails is told, and kills nobody."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from pf_backends.entries import Condition, Facts, Upload
from pf_backends.memory.backend import LIKE_OBJECTS, MemoryBackend
from pf_fuse.staging.disk import DiskFailed
from pf_fuse.staging.notes import Notes
from pf_fuse.staging.uploading import PUT_MOST, Uploader

SIZES = [5, PUT_MOST, PUT_MOST + 5]
"""Put at once with and without a buffer, and in parts."""


@pytest.fixture
def backend() -> MemoryBackend:
    return MemoryBackend(capabilities=LIKE_OBJECTS)


@pytest.fixture
def uploader(backend: MemoryBackend, tmp_path: Path) -> Iterator[Uploader]:
    numbers = count()
    with ThreadPoolExecutor(4) as senders:
        yield Uploader(backend, Notes(tmp_path / "uploads", Upload, lambda: f"{next(numbers)}"), senders)


@pytest.fixture
def descriptor(tmp_path: Path) -> Iterator[int]:
    """Of a file that was never written, but for its end."""
    opened = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    yield opened
    os.close(opened)


def filled(descriptor: int, size: int) -> None:
    os.ftruncate(descriptor, size)
    os.pwrite(descriptor, b"end", size - 3)


@pytest.mark.parametrize("size", SIZES)
def test_what_was_never_written_of_a_file_is_zeros(
    uploader: Uploader, backend: MemoryBackend, descriptor: int, size: int
) -> None:
    filled(descriptor, size)
    assert uploader.send("f", descriptor, size, Facts(), Condition()).entry.size == size
    assert bytes(backend.fetch("f", limit=size)[1]) == bytes(size - 3) + b"end"


def test_what_was_never_written_is_zeros_where_a_backend_takes_files_only_as_a_whole(
    tmp_path: Path, descriptor: int
) -> None:
    size = PUT_MOST + 5
    filled(descriptor, size)
    whole = MemoryBackend(capabilities=replace(LIKE_OBJECTS, parts=None))
    with ThreadPoolExecutor(1) as senders:
        uploader = Uploader(whole, Notes(tmp_path / "uploads", Upload, str), senders)
        assert uploader.send("f", descriptor, size, Facts(), Condition()).entry.size == size
    assert bytes(whole.fetch("f", limit=size)[1]) == bytes(size - 3) + b"end"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_a_disk_that_gives_it_not_is_told(
    uploader: Uploader,
    backend: MemoryBackend,
    descriptor: int,
    monkeypatch: pytest.MonkeyPatch,
    size: int,
    number: int,
) -> None:
    """Where it is mapped, whoever looks at it is killed."""
    filled(descriptor, size)

    def fail(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "preadv", fail)
    with pytest.raises(DiskFailed) as failed:
        uploader.send("f", descriptor, size, Facts(), Condition())
    assert failed.value.errno == number
    assert not backend.list("").entries
    assert not backend.uploads("")


@pytest.mark.parametrize("size", SIZES)
def test_a_file_that_is_shorter_than_it_was_is_not_uploaded(
    uploader: Uploader, backend: MemoryBackend, descriptor: int, size: int
) -> None:
    filled(descriptor, size)
    os.ftruncate(descriptor, size - 1)
    with pytest.raises(DiskFailed, match="cut off"):
        uploader.send("f", descriptor, size, Facts(), Condition())
    assert not backend.list("").entries
