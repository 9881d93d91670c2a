"""The memory for what is fetched."""

from __future__ import annotations

import ctypes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_fuse.fetching import memory as fetching_memory
from pf_fuse.fetching.memory import ALIGNED, Block, Memory, aligned_at
from pf_fuse.pages.keys import PAGE, Extent

BLOCK = 8 * PAGE


def kept(memory: Memory, data: bytes | bytearray, start: int = 0, *, unread: bool = False) -> Block:
    block = Block(Extent(start, start + min(len(data), BLOCK)), data, {}, unread=unread)
    memory.keep(block)
    return block


def test_buffers_are_used_again_once_nobody_looks_at_them() -> None:
    memory = Memory(2 * BLOCK, BLOCK)
    buffer = memory.take(BLOCK, urgent=True)
    assert buffer is not None
    block = kept(memory, buffer)
    view = block.view(0, 100)
    memory.drop(block)
    other = memory.take(BLOCK, urgent=True)
    assert other is not buffer
    assert memory.take(BLOCK, urgent=True) is None
    assert view is not None
    del view
    assert memory.take(BLOCK, urgent=True) is buffer
    assert len(buffer) == BLOCK + ALIGNED


@pytest.mark.parametrize("size", [PAGE, BLOCK])
def test_memory_that_the_machine_does_not_have_is_not_used(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory(2 * BLOCK, BLOCK)

    def refuse(_: int) -> bytearray:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(fetching_memory, "bytearray", refuse, raising=False)
        for _ in range(3):
            with pytest.raises(MemoryError):
                memory.take(size, urgent=True)
    assert memory.used == 0
    assert memory.take(size, urgent=True) is not None


def test_blocks_begin_where_disks_want_them() -> None:
    memory = Memory(2 * BLOCK, BLOCK)
    buffer = memory.take(BLOCK, urgent=True)
    assert buffer is not None
    at = aligned_at(buffer)
    assert at + BLOCK <= len(buffer)
    with memoryview(buffer)[at:] as view:
        assert ctypes.addressof(ctypes.c_char.from_buffer(view)) % ALIGNED == 0


def test_a_block_that_is_gone_shows_nothing() -> None:
    memory = Memory(2 * BLOCK, BLOCK)
    block = kept(memory, bytearray(b"x" * BLOCK), start=BLOCK)
    memory.used = BLOCK
    assert bytes(block.view(BLOCK, BLOCK + 2) or b"") == b"xx"
    assert block.view(0, 2) is None
    assert block.view(2 * BLOCK - 1, 2 * BLOCK + 1) is None
    memory.drop(block)
    assert block.view(BLOCK, BLOCK + 2) is None


def test_what_was_not_read_stays_until_somebody_waits() -> None:
    memory = Memory(2 * BLOCK, BLOCK)
    first = kept(memory, memory.take(BLOCK, urgent=True) or b"", unread=True)
    second = kept(memory, memory.take(BLOCK, urgent=True) or b"", start=BLOCK, unread=True)
    assert memory.take(BLOCK, urgent=False) is None
    memory.touch(second)
    assert memory.take(BLOCK, urgent=False) is not None
    assert not second.places
    assert memory.take(BLOCK, urgent=True) is not None
    assert not first.places


def test_what_is_on_the_disk_too_goes_at_rest() -> None:
    memory = Memory(4 * BLOCK, BLOCK)
    disk = kept(memory, memory.take(BLOCK, urgent=True) or b"")
    disk.kept = True
    only = kept(memory, memory.take(PAGE, urgent=True) or b"", start=BLOCK)
    memory.rest()
    assert memory.used == PAGE + ALIGNED
    assert only.places
    assert not disk.places


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["take", "small", "bytes", "drop", "look", "blind", "rest"]), st.integers(0, 30)),
        max_size=80,
    )
)
def test_no_more_is_taken_than_allowed_and_what_is_looked_at_stays(steps: list[tuple[str, int]]) -> None:
    memory = Memory(4 * BLOCK, BLOCK)
    blocks: list[tuple[Block, bytes]] = []
    views: list[tuple[memoryview, bytes]] = []
    for number, (what, choice) in enumerate(steps):
        mark = bytes([number % 251])
        if what in ("take", "small"):
            size = BLOCK if what == "take" else PAGE
            buffer = memory.take(size, urgent=True)
            if buffer is not None:
                buffer[:size] = mark * size
                blocks.append((kept(memory, buffer, start=number * BLOCK), mark))
        elif what == "bytes" and memory.claim(PAGE, urgent=True):
            blocks.append((kept(memory, mark * PAGE, start=number * BLOCK), mark))
        elif what == "drop" and blocks:
            memory.drop(blocks.pop(choice % len(blocks))[0])
        elif what == "look" and blocks:
            block, mark = blocks[choice % len(blocks)]
            view = block.view(block.extent.start, block.extent.start + PAGE)
            views.extend([(view, mark)] if view is not None else [])
        elif what == "blind" and views:
            views.pop(choice % len(views))
        elif what == "rest":
            memory.rest()
        assert 0 <= memory.used <= memory.most
        assert all(bytes(view) == mark * PAGE for view, mark in views)
