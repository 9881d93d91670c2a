"""Lists of folders: whatever room there is, names come once, and the kernel is told of them as often as is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_fuse.kernel.folders import KEPT, Folders, Piece, is_name
from pf_fuse.kernel.wire import DIRENT, DIRENT_PLUS, ENTRY_OUT
from pf_fuse.operations import Attributes, Known, Named

names = st.lists(st.binary(min_size=1, max_size=255).filter(is_name), unique=True, max_size=60)
rooms = st.lists(st.integers(600, 8192), min_size=1, max_size=8)


def thing(place: int, name: bytes) -> Named:
    return Named(name, place, Known(Attributes(place + 100, 0o100644, 0, 0, 0, 0, 0, 0), 1, 1))


class Lister:
    """A folder that counts of what it told."""

    def __init__(self, found: Sequence[bytes]) -> None:
        self.told: Counter[int] = Counter()
        self._things = [thing(place, name) for place, name in enumerate(found, 1)]

    def readdir(self, place: int, count: int) -> list[Named]:
        found = self._things[place : place + count]
        self.told.update(100 + one.place for one in found)
        return found

    def forget(self, nodes: Sequence[tuple[int, int]]) -> None:
        self.told.subtract(dict(nodes))


def decode(body: bytes, plus: bool) -> list[tuple[int, int, bytes]]:
    """Node, where the list goes on, and name of each."""
    found, start = [], 0
    while start < len(body):
        head = start + ENTRY_OUT.size if plus else start
        node, place, length, _ = DIRENT.unpack_from(body, head)
        name = head + DIRENT.size
        found.append((node, place, body[name : name + length]))
        start = name + (length + 7) // 8 * 8
    return found


def ask(lister: Lister, folders: Folders, offset: int, room: int, plus: bool) -> list[tuple[int, int, bytes]]:
    piece = Piece(folders, 1, offset, room, plus)
    more = lister.readdir(piece.goes_on, piece.wanted) if piece.wanted > 0 else []
    body = piece.encode(more)
    assert len(body) <= room
    return decode(body, plus)


@given(names, rooms, st.booleans())
def test_every_name_comes_once_and_is_counted_once(found: list[bytes], sizes: list[int], plus: bool) -> None:
    lister = Lister(found)
    folders = Folders(lister.forget)
    listed: list[tuple[int, int, bytes]] = []
    turn = 0
    while part := ask(lister, folders, listed[-1][1] if listed else 0, sizes[turn % len(sizes)], plus):
        listed += part
        turn += 1
    assert [name for _, _, name in listed] == [b".", b"..", *found]
    folders.closed(1)
    wanted = {node: 1 for node, _, _ in listed[2:]} if plus else {}
    assert +lister.told == Counter(wanted)


@given(names, st.lists(st.tuples(st.integers(0, 70), st.integers(600, 4096)), max_size=20), st.booleans())
def test_wherever_is_read_from_the_count_is_right(found: list[bytes], reads: list[tuple[int, int]], plus: bool) -> None:
    lister = Lister(found)
    folders = Folders(lister.forget)
    told: Counter[int] = Counter()
    for offset, room in reads:
        part = ask(lister, folders, offset, room, plus)
        told.update(node for node, _, name in part if plus and name not in (b".", b".."))
        assert [name for _, _, name in part] == [b".", b"..", *found][offset : offset + len(part)]
    folders.closed(1)
    assert +lister.told == told


def test_what_nobody_comes_for_is_let_go_of() -> None:
    lister = Lister([b"x" * 200 for _ in range(400)])
    folders = Folders(lister.forget)
    for offset in range(2, KEPT + 100):
        ask(lister, folders, offset, 600, plus=True)
    sizes = 600 // DIRENT_PLUS.size
    told = KEPT + 98
    assert lister.told.total() <= told + KEPT * sizes


def test_names_that_no_file_can_have_are_left_out() -> None:
    lister = Lister([b"a", b"", b"b/c", b".", b"..", b"d\0", b"e" * 256, b"f"])
    folders = Folders(lister.forget)
    listed = ask(lister, folders, 0, 8192, plus=True)
    assert [name for _, _, name in listed] == [b".", b"..", b"a", b"f"]
    assert listed[-1][1] == 8 + 2
    assert sorted(+lister.told) == [101, 108]


def test_a_list_of_nothing_else_is_no_empty_folder() -> None:
    lister = Lister([b"a/b", b"c/d"])
    with pytest.raises(OSError, match="cannot be those of files"):
        ask(lister, Folders(lister.forget), 0, 8192, plus=True)
    assert lister.told.total() == 0


def test_a_list_that_fails_forgets_what_it_had() -> None:
    lister = Lister([b"x" * 200 for _ in range(9)])
    folders = Folders(lister.forget)
    first = ask(lister, folders, 0, 800, plus=True)
    piece = Piece(folders, 1, first[-1][1], 800, True)
    assert piece.had
    piece.fail(None)
    assert lister.told.total() == len(first) - 2
