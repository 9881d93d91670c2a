"""What is written down of nodes is whole, also when the disk was full for a while."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pf_fuse.vfs.journal import Closed, Forgotten, Journal


@contextmanager
def full_at(size: int) -> Iterator[None]:
    """No file grows beyond so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_what_does_not_fit_leaves_no_half_record(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "nodes")
    journal.put([Closed(1)])
    with full_at(journal.size + 3):
        with pytest.raises(OSError, match="large"):
            journal.put([Closed(2)])
        with pytest.raises(OSError, match="large"):
            journal.replace([Closed(number) for number in range(5)])
    journal.put([Forgotten(3)])
    assert list(journal.read()) == [Closed(1), Forgotten(3)]
    assert journal.size == (tmp_path / "nodes").stat().st_size


def test_records_that_take_the_place_of_others_are_whole(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "nodes")
    journal.put([Closed(1)])
    journal.replace([Closed(2), Closed(3)])
    journal.put([Closed(4)])
    assert list(Journal(tmp_path / "nodes").read()) == [Closed(2), Closed(3), Closed(4)]
