"""Long work leaves others their turn."""

from __future__ import annotations

import asyncio

from pf_kit.turns import TURN, by_turns


async def test_others_have_their_turn_while_many_things_are_done() -> None:
    alone = 0
    others = asyncio.ensure_future(asyncio.sleep(0))
    async for _ in by_turns(range(10 * TURN)):
        if not others.done():
            alone += 1
    assert alone <= 2 * TURN


async def test_it_is_the_same_things_in_order() -> None:
    assert [number async for number in by_turns(range(3 * TURN + 1))] == list(range(3 * TURN + 1))
