"""Guessing what will be read next."""

from __future__ import annotations

import itertools

from hypothesis import assume, given
from hypothesis import strategies as st

from pf_fuse.fetching.pattern import FIRST, MIB, SKIP, Pattern, requests
from pf_fuse.pages.keys import PAGE, Extent

MOST = 64 * MIB
BLOCK = 4 * MIB
STEP = 128 * 1024


def test_who_reads_on_is_led_by_more_and_more() -> None:
    pattern = Pattern(BLOCK)
    reached, leads = 0, []
    for start in range(0, 256 * MIB, STEP):
        ahead = pattern.observe(start, start + STEP, MOST)
        if ahead.size:
            assert ahead.start == max(reached, start + STEP)
            reached = ahead.end
            leads.append(reached - start - STEP)
        assert reached >= start + STEP
    assert all(each * MIB <= lead < each * MIB + BLOCK for each, lead in zip((1, 2, 4, 8, 16, 32), leads, strict=False))
    assert all(MOST <= lead < MOST + BLOCK for lead in leads[6:])


def test_random_reads_fetch_nothing_more() -> None:
    pattern = Pattern(BLOCK)
    for place in (5, 100, 30, 77, 20, 90, 60, 10, 40):
        start = place * 16 * MIB
        assert not pattern.observe(start, start + 4096, MOST).size


def test_a_stream_that_begins_amid_a_file_is_led_from_its_second_read_on() -> None:
    pattern = Pattern(BLOCK)
    assert not pattern.observe(50 * MIB, 51 * MIB, MOST).size
    assert pattern.observe(51 * MIB, 52 * MIB, MOST) == Extent(52 * MIB, 52 * MIB + FIRST)


def test_skips_and_late_reads_are_no_end_of_a_stream() -> None:
    pattern = Pattern(BLOCK)
    pattern.observe(0, MIB, MOST)
    assert pattern.observe(MIB + SKIP, 2 * MIB + SKIP, MOST).size
    late = pattern.observe(MIB, MIB + SKIP, MOST)
    assert not late.size or late.start >= 2 * MIB + SKIP


def test_several_readers_are_led_each() -> None:
    pattern = Pattern(BLOCK)
    places = [reader * 1024 * MIB for reader in range(8)]
    for _ in range(20):
        for reader, place in enumerate(places):
            pattern.observe(place, place + MIB, MOST)
            places[reader] += MIB
    for place in places:
        assert sum(pattern.observe(place + each * MIB, place + (each + 1) * MIB, MOST).size for each in range(32)) > 0


def test_no_more_is_fetched_ahead_than_there_is_memory_for() -> None:
    pattern = Pattern(BLOCK)
    for start in range(0, 64 * MIB, MIB):
        assert pattern.observe(start, start + MIB, 2 * MIB).size <= 2 * MIB


@given(reads=st.lists(st.tuples(st.integers(0, 100 * MIB), st.integers(1, 2 * MIB)), max_size=60))
def test_nothing_is_fetched_twice_by_a_stream_and_nothing_behind_it(reads: list[tuple[int, int]]) -> None:
    pattern = Pattern(BLOCK)
    for start, size in reads:
        ahead = pattern.observe(start, start + size, MOST)
        assert 0 <= ahead.size < MOST + BLOCK
        assert not ahead.size or ahead.start >= start + size


@given(start=st.integers(0, 40 * MIB), length=st.integers(1, 20 * MIB), size=st.integers(1, 50 * MIB))
def test_requests_are_whole_pages_within_blocks(start: int, length: int, size: int) -> None:
    block = 4 * MIB
    found = list(requests(Extent(start, start + length), block, size))
    assume(start < size)
    assert found[0].start == start - start % PAGE
    assert found[-1].end == min(size, -(-(start + length) // PAGE) * PAGE)
    assert all(one.end == two.start and one.end % block == 0 for one, two in itertools.pairwise(found))
    assert all(0 < each.size <= block for each in found)
