"""Cutting logs, searching them, and finding their last lines: any bytes, cut anywhere."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_job.logs.cutting import CHUNK, SEARCHED, Piece, pieces, searched, told
from pf_job.logs.domain import Bounds, Position
from pf_job.logs.search import Search
from pf_job.logs.tail import tail
from pf_job.runtimes.port import ReplicaKey

AT = Position(ReplicaKey("job", 1, "main", 0), 0)
LOGS = st.lists(
    st.one_of(
        st.sampled_from([b"\n", b"\r\n", b"a", b"b", b"ab", b"A", b"\xff\xfe", b"\0", b"a-b", b"\r"]),
        st.binary(max_size=20),
        st.sampled_from([b"x" * CHUNK, b"y" * (CHUNK + 1), b"z" * (3 * CHUNK)]),
    ),
    max_size=30,
).map(b"".join)
SHORT_LINES = st.lists(st.sampled_from([b"\n", b"a", b"b", b"ab", b"A", b"\r\n", b"\xff"]), max_size=60).map(b"".join)
SEARCHES = st.builds(
    Search,
    st.lists(st.sampled_from(["a", "b", "ab", "a*b", "*b*a*", "B", "a*a*a", "ÿ"]), min_size=1, max_size=3),
    st.booleans(),
)


def lines_of(log: bytes) -> list[bytes]:
    """The lines with their ends; unlike `splitlines` at `\\n` only."""
    parts = log.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def has(search: Search, line: bytes) -> bool:
    """As slow as can be: every way to part the line."""
    fold = bytes.lower if search.ignore_case else bytes
    return any(_matches(fold(text.encode()).split(b"*"), fold(line)) for text in search.texts)


def _matches(parts: Sequence[bytes], line: bytes) -> bool:
    if not parts:
        return True
    ends = (n + len(parts[0]) for n in range(len(line) + 1) if line.startswith(parts[0], n))
    return any(_matches(parts[1:], line[end:]) for end in ends)


@given(log=LOGS, offset=st.integers(0, 2**40), rest=st.booleans())
def test_pieces_are_the_log(log: bytes, offset: int, rest: bool) -> None:
    found = list(pieces(log, offset, rest=rest))
    whole = b"".join(piece.data for piece in found)
    left = log[len(whole) :]
    assert whole + left == log
    assert not left if rest else b"\n" not in left and len(left) < CHUNK
    for before, piece in zip([Piece(0, b"", offset), *found], found, strict=False):
        assert piece.offset == before.after
        assert piece.after == piece.offset + len(piece.data)
        assert 0 < len(piece.data) <= CHUNK


@given(log=LOGS)
def test_a_line_is_cut_only_if_it_is_longer_than_a_piece(log: bytes) -> None:
    for piece in list(pieces(log, 0, rest=True))[:-1]:
        assert piece.data.endswith(b"\n") or (len(piece.data) == CHUNK and b"\n" not in piece.data)


@given(log=LOGS, most=st.integers(1, 3 * CHUNK))
def test_pieces_can_be_smaller(log: bytes, most: int) -> None:
    found = list(pieces(log[: 100 * most], 0, rest=True, most=most))
    assert b"".join(piece.data for piece in found) == log[: 100 * most]
    assert all(0 < len(piece.data) <= most for piece in found)


@given(log=LOGS, cut=st.integers(1, 3 * CHUNK))
def test_blocks_of_any_size_tell_the_same(log: bytes, cut: int) -> None:
    """What is left of a block comes again at the beginning of the next one."""
    told_so_far, offset = b"", 0
    while offset < len(log):
        size = max(cut, CHUNK)
        block = log[offset : offset + size]
        for piece in pieces(block, offset, rest=offset + size >= len(log)):
            told_so_far += piece.data
            offset = piece.after
    assert told_so_far == log


@given(log=SHORT_LINES, search=SEARCHES)
def test_a_search_keeps_the_lines_that_have_a_text(log: bytes, search: Search) -> None:
    assert search.keep(log) == b"".join(line for line in lines_of(log) if has(search, line))


@given(log=SHORT_LINES, lines=st.integers(1, 70), cuts=st.lists(st.integers(1, 7)), kept=st.integers(0, 5))
def test_the_last_lines_are_found_from_the_end(log: bytes, lines: int, cuts: list[int], kept: int) -> None:
    wanted = b"".join(lines_of(log[kept:])[-lines:])
    assert log[kept:][found(log, lines, None, cuts, kept) - kept :] == wanted


@given(
    log=SHORT_LINES,
    lines=st.integers(1, 9),
    search=SEARCHES,
    cuts=st.lists(st.integers(1, 7)),
    kept=st.integers(0, 5),
)
def test_the_last_lines_that_have_a_text_are_found_from_the_end(
    log: bytes, lines: int, search: Search, cuts: list[int], kept: int
) -> None:
    matching = [line for line in lines_of(log[kept:]) if has(search, line)]
    begin = found(log, lines, search, cuts, kept)
    assert search.keep(log[begin:]) == b"".join(matching[-lines:])


def found(log: bytes, lines: int, search: Search | None, cuts: list[int], kept: int) -> int:
    """Where the last lines begin, looked for in blocks of these sizes; what lies before `kept` is not there."""
    looking, before, turn = tail(lines, search), len(log), 0
    while before > kept:
        begin = max(kept, before - (cuts[turn % len(cuts)] if cuts else 5))
        turn += 1
        place = looking.feed(begin, log[begin:before], first=begin == kept)
        if place is not None:
            return place
        before = begin
    return before


def test_a_line_longer_than_a_piece_is_searched_from_the_end_with_little_memory() -> None:
    looking = tail(1, Search(["needle"]))
    blocks = [b"needle" + b"x" * 200_000, *[b"x" * 200_000] * 3]
    offsets = [sum(map(len, blocks[:n])) for n in range(len(blocks))]
    places = [looking.feed(o, b, first=o == 0) for o, b in zip(reversed(offsets), reversed(blocks), strict=True)]
    assert places == [None, None, None, 0]


@given(
    data=SHORT_LINES,
    cuts=st.lists(st.integers(1, 9), min_size=1),
    lines=st.integers(0, 9),
    size=st.integers(0, 40),
)
def test_no_more_is_told_than_was_asked_for(data: bytes, cuts: list[int], lines: int, size: int) -> None:
    """However the log comes, and wherever it is gone on with."""
    position, result, offset, turn = AT, b"", 0, 0
    while offset < len(data) and not position.end:
        step = cuts[turn % len(cuts)]
        turn += 1
        piece = Piece(offset, data[offset : offset + step], min(len(data), offset + step))
        more, position = told(piece, position, Bounds(lines, size))
        result, offset = result + more, position.offset
    expected = data[:size] if size else data
    expected = b"".join(lines_of(expected)[:lines]) if lines else expected
    assert result == expected
    assert (position.lines, position.bytes) == (result.count(b"\n"), len(result))


def test_what_is_found_says_where_to_go_on_behind_what_was_passed_over() -> None:
    piece = searched(Piece(10, b"no\nyes\nno\n", 20), Search(["yes"]))
    assert (piece.offset, piece.data, piece.after) == (10, b"yes\n", 20)


@pytest.mark.parametrize("text", ["a*a*a*a*a*a*a*a*a*a*b", "*a*" * 300 + "b", "a" * 1000 + "b", "a" * 500 + "*b"])
def test_no_text_takes_longer_than_the_log_is_long(text: str) -> None:
    """Whatever would make a regular expression go back and back again."""
    log = b"a" * (4 * SEARCHED) + b"\n"
    begun = time.process_time()
    assert Search([text + str(n) for n in range(16)], ignore_case=True).keep(log) == b""
    assert time.process_time() - begun < 1


@pytest.mark.parametrize("line", [b"a\n", b"abcdefghijklmnop\n"])
def test_texts_in_every_line_take_no_longer(line: bytes) -> None:
    search = Search([letter + "*" * n for n, letter in enumerate("abcdefghijklmnop")] + ["*a", "a*", "a"])
    piece = line * (SEARCHED // len(line))
    begun = time.process_time()
    assert search.keep(piece) == piece
    assert time.process_time() - begun < 0.2
