"""Locks by name, inside one process."""

from __future__ import annotations

import asyncio
import gc

import pytest

from pf_kit.locks import NamedLocks


async def test_one_name_is_held_once_and_others_meanwhile() -> None:
    locks, held = NamedLocks(), []

    async def hold(*names: str) -> None:
        async with locks.hold(names, 5.0):
            held.append(names)
            await asyncio.sleep(0.02)
            held.append(names)

    await asyncio.gather(hold("a"), hold("a"), hold("b"), hold("b", "a"))
    for name in "ab":
        order = [names for names in held if name in names]
        assert order[::2] == order[1::2], f"{name} was held twice"
    assert held.index(("b",)) < 3, "b needs not wait for a"


async def test_a_name_given_twice_is_one_name() -> None:
    async with NamedLocks().hold(("a", "a"), 0.1):
        pass


async def test_patience_ends_and_leaves_nothing_held() -> None:
    locks = NamedLocks()
    async with locks.hold(("b",), 1.0):
        with pytest.raises(TimeoutError):
            async with locks.hold(("a", "b"), 0.01):
                pass
        async with locks.hold(("a",), 0.01):
            pass


async def test_names_that_nobody_needs_any_more_take_no_memory() -> None:
    locks = NamedLocks()
    for number in range(100):
        async with locks.hold((f"queue/{number}",), 1.0):
            pass
    gc.collect()
    assert not list(locks._locks)  # noqa: SLF001 - there is no other way to see it
