"""A file that several threads read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

from paddleflow.direct.reader import Bytes, Reader

BODY = os.urandom(100_000)


class Here:
    """Something that was opened, in memory."""

    size = len(BODY)

    def open(self, _entry: object) -> Here:
        return self

    def read_into(self, offset: int, into: memoryview) -> int:
        piece = BODY[offset : offset + len(into)]
        into[: len(piece)] = piece
        return len(piece)

    def read(self, offset: int, size: int) -> bytes:
        return BODY[offset : offset + size]

    def close(self) -> None:
        """There is nothing to let go of."""


@pytest.fixture
def file() -> Iterator[Reader]:
    here = cast("Any", Here())
    with Reader(cast("Any", None), "data/f", Bytes(here, here, lambda: here), {}) as opened:
        yield opened


@pytest.fixture
def elsewhere() -> Iterator[Callable[[Callable[[], Any]], Any]]:
    """Does something in another thread, always the same one."""
    with ThreadPoolExecutor(1) as other:
        yield lambda work: other.submit(work).result()


def test_each_thread_reads_where_it_sought(file: Reader, elsewhere: Callable[[Callable[[], Any]], Any]) -> None:
    file.seek(50_000)
    elsewhere(lambda: file.seek(10))
    assert file.tell() == 50_000
    assert file.read(20) == BODY[50_000:50_020]
    assert elsewhere(lambda: file.read(20)) == BODY[10:30]


def test_who_does_not_seek_goes_on_where_the_last_one_was(
    file: Reader, elsewhere: Callable[[Callable[[], Any]], Any]
) -> None:
    file.seek(100)
    assert elsewhere(lambda: file.read(10)) == BODY[100:110]
    assert file.read(10) == BODY[110:120]
    assert elsewhere(file.tell) == 120


def test_seeking_from_where_one_is_counts_from_there(
    file: Reader, elsewhere: Callable[[Callable[[], Any]], Any]
) -> None:
    file.seek(100)
    elsewhere(lambda: file.seek(7))
    assert file.seek(5, os.SEEK_CUR) == 105
    assert file.read1(5) == BODY[105:110]


def test_many_threads_that_seek_and_read_all_get_theirs(file: Reader) -> None:
    def right(offset: int) -> bool:
        file.seek(offset)
        return file.read(1000) == BODY[offset : offset + 1000]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(right, (n * 7919 % 99_000 for n in range(5000))))
