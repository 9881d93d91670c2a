"""What is written down of nodes is whole, also when the disk was full for a while."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import msgspec
import pytest

from pf_backends.entries import Entry, Facts, Kind
from pf_fuse.operations import TOP
from pf_fuse.staging.staged import Stage
from pf_fuse.vfs.journal import Closed, Forgotten, Journal, StagedIn
from pf_fuse.vfs.nodes import Nodes


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


def test_what_is_put_while_it_is_to_be_replaced_is_added_if_there_is_no_room_for_that(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "nodes")
    journal.put([Closed(1)])
    with journal.holding():
        journal.put([Closed(2)])
    with full_at(0):
        with pytest.raises(OSError, match="large"):
            journal.replace([Closed(3)])
        with pytest.raises(OSError, match="large"):
            journal.put([Closed(4)])
    assert not (tmp_path / "nodes.new").exists()
    journal.put([Closed(5)])
    assert list(journal.read()) == [Closed(1), Closed(2), Closed(5)]


def test_what_is_put_while_it_is_to_be_replaced_is_not_added_if_that_succeeds(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "nodes")
    with journal.holding():
        journal.put([Closed(1)])
    journal.replace([Closed(2)])
    journal.put([Closed(3)])
    assert list(journal.read()) == [Closed(2), Closed(3)]


class OldStagedIn(msgspec.Struct, frozen=True, tag="s", array_like=True):
    """As versions before wrote it."""

    node: int
    file: str
    made_of: str
    only_new: bool
    facts: Facts
    uploaded: Entry | None


def test_what_a_version_before_wrote_is_read_and_what_this_one_writes_is_read_by_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "nodes")
    uploaded = Entry("", Kind.FILE, 5)
    journal.put([cast("StagedIn", OldStagedIn(7, "a", "v", False, Facts(mode=0o600), uploaded))])
    (found,) = journal.read()
    assert found == StagedIn(7, "a", "v", facts=Facts(mode=0o600), uploaded=uploaded)
    new = msgspec.msgpack.encode(StagedIn(7, "a", "v", there=5))
    assert msgspec.msgpack.decode(new, type=OldStagedIn) == OldStagedIn(7, "a", "v", False, Facts(), None)


def test_what_is_not_known_any_more_is_not_read_by_the_next_process(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "nodes")
    nodes = Nodes(journal, Stage(tmp_path / "stage", str))
    for number in range(40_000):
        node = nodes.enter(nodes[TOP], Entry(f"{number:0200d}", Kind.FILE), 0.0)
        nodes.tell(node)
        if gone := nodes.forget(node.id, 1):
            nodes.clear(gone)
    assert journal.size < 3 << 20
