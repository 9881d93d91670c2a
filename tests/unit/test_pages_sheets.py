"""Sheets, and what is decided about a folder's room."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_fuse.pages.keys import PAGE, Key, pages_of
from pf_fuse.pages.room import ROUND, Bounds, Found, Held, bounds, total
from pf_fuse.pages.sheets import Sheet, decode, new_sheet, seal, seals

WORDS = st.text(st.characters(codec="utf-8"), max_size=40)


def encode(sheet: Sheet) -> bytes:
    return sheet.head + sheet.seals.tobytes()


KEYS = st.builds(Key, WORDS, WORDS, WORDS)


@given(
    key=KEYS, size=st.integers(0, 40 * PAGE), chosen=st.lists(st.tuples(st.integers(0, 39), st.integers(0, 2**32 - 1)))
)
def test_a_sheet_is_read_as_it_was_written(key: Key, size: int, chosen: list[tuple[int, int]]) -> None:
    sheet = new_sheet(key, size)
    for page, value in chosen:
        if page < len(sheet.seals):
            sheet.seals[page] = value
    assert decode(encode(sheet)) == sheet


@given(key=KEYS, at=st.integers(0), bit=st.integers(0, 7), cut=st.integers(0))
def test_a_head_that_was_damaged_is_no_sheet(key: Key, at: int, bit: int, cut: int) -> None:
    sheet = new_sheet(key, 3 * PAGE)
    data = bytearray(encode(sheet))
    length = len(sheet.head)
    assert decode(bytes(data[: cut % length])) is None
    data[at % length] ^= 1 << bit
    assert decode(bytes(data)) is None


def test_seals_that_are_missing_are_of_pages_that_are_not_there() -> None:
    sheet = new_sheet(Key("a", "b", "c"), 3 * PAGE)
    sheet.seals[0] = sheet.seals[1] = sheet.seals[2] = 7
    found = decode(encode(sheet)[:-6])
    assert found is not None
    assert list(found.seals) == [7, 0, 0]
    assert not found.whole


def test_a_key_with_bytes_that_are_no_text_is_kept() -> None:
    sheet = new_sheet(Key("a", b"\xff\xfe".decode("utf-8", "surrogateescape"), ""), 1)
    assert decode(encode(sheet)) == sheet


def test_no_page_has_the_seal_of_one_that_is_not_there() -> None:
    # CRC32C of nothing is 0.
    assert seal(b"") == 1
    assert seals(memoryview(bytes(PAGE + 1))) == [seal(bytes(PAGE)), seal(b"\0")]


@given(first=KEYS, second=KEYS)
def test_names_differ_where_keys_do(first: Key, second: Key) -> None:
    assert (first.name == second.name) == (first == second)


def test_the_parts_of_a_key_do_not_run_into_one_another() -> None:
    assert Key("a", "bc", "d").name != Key("ab", "c", "d").name != Key("ab", "", "cd").name


@pytest.mark.parametrize(("size", "pages"), [(0, 0), (1, 1), (PAGE, 1), (PAGE + 1, 2)])
def test_pages_of_a_file(size: int, pages: int) -> None:
    assert pages_of(size) == pages


def test_a_folder_takes_its_share_of_what_others_leave() -> None:
    assert bounds(None, 10, disk=1000, free=500, held=300, sharers=1) == Bounds(760, 10, 50)
    assert bounds(None, 10, disk=1000, free=500, held=300, sharers=2) == Bounds(380, 10, 50)
    assert bounds(100, 10, disk=1000, free=500, held=300, sharers=1) == Bounds(100, 10, 50)


def test_what_is_too_much_has_to_go() -> None:
    room = Bounds(bytes=1000, files=100, spare=50)
    assert room.excess(Held(970, 97), free=50) == Held(0, 0)
    assert room.excess(Held(980, 98), free=50) == Held(60, 6)
    assert room.excess(Held(0, 0), free=40) == Held(22, 0)
    assert room.allow(1000, 100, free=50)
    assert not room.allow(1001, 100, free=50)
    assert not room.allow(1000, 101, free=50)
    assert not room.allow(1000, 100, free=49)
    assert not room.exceeded(970, 97, free=50)
    assert room.exceeded(971, 0, free=50)
    assert room.exceeded(0, 98, free=50)
    assert room.exceeded(0, 0, free=49)


@given(used=st.lists(st.integers(0, 100), max_size=50))
def test_the_oldest_come_first(used: list[int]) -> None:
    held, oldest = total(Found(str(place), 3, when) for place, when in enumerate(used))
    assert held == Held(3 * len(used), len(used))
    assert [each.used for each in oldest] == sorted(used)[:ROUND]
