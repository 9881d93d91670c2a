"""Parts of uploads, until they are whole."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.problems import Overloaded
from pf_fs.manager.chunks import IDLE, MOST, MOST_OF_USER, Chunks, PartKey
from support.accounts import ManualClock


def key(number: int = 1, user: str = "alice") -> PartKey:
    return PartKey(user, "fs-alice-data", "upload", number)


@given(st.lists(st.binary(min_size=1, max_size=20), max_size=10))
def test_a_part_is_its_pieces_in_their_order_however_often_they_come(pieces: list[bytes]) -> None:
    chunks, offset = Chunks(ManualClock()), 0
    for piece in pieces:
        end = chunks.add(key(), offset, piece)
        assert end == offset + len(piece)
        if offset:
            # Not the next one: neither kept nor lost.
            assert chunks.add(key(), offset, piece) == end
        offset = end
    if pieces:
        assert chunks.whole(key()) == b"".join(pieces)
    chunks.forget(key())


def test_what_is_not_known_begins_at_the_beginning() -> None:
    chunks = Chunks(ManualClock())
    assert chunks.add(key(), 100, b"x") == 0
    assert chunks.add(key(), 0, b"abc") == 3
    assert chunks.add(key(), 0, b"xy") == 2
    assert chunks.whole(key()) == b"xy"
    chunks.forget(key())


def test_one_user_does_not_take_all_and_who_is_silent_makes_room() -> None:
    clock = ManualClock()
    chunks = Chunks(clock)
    for number in range(MOST_OF_USER):
        chunks.add(key(number), 0, b"x")
    with pytest.raises(Overloaded):
        chunks.add(key(99), 0, b"x")
    for number in range(MOST - MOST_OF_USER):
        chunks.add(key(1, f"user{number}"), 0, b"x")
    with pytest.raises(Overloaded):
        chunks.add(key(1, "another"), 0, b"x")
    clock.move(IDLE + 1)
    assert chunks.add(key(1, "another"), 0, b"x") == 1
    assert chunks.add(key(1), 1, b"y") == 0, "it was forgotten"
    chunks.forget(key(1, "another"))


def test_a_disk_without_room_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nothing"))
    with pytest.raises(Overloaded, match="no room for parts: No such file"):
        Chunks(ManualClock()).add(key(), 0, b"x")
