"""What is done about clients that do not answer, and how much the storage of one may hold up others."""

from __future__ import annotations

import asyncio
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_csi.holder.ladder import Silence, Step, next_step
from pf_csi.holder.lanes import MOST, Lanes
from support.waiting import until

PATIENCE = 60.0


def climbed(looks: list[tuple[float, bool]]) -> list[Step]:
    silence, steps, now = Silence(), list[Step](), 0.0
    for passed, answers in looks:
        now += passed
        silence, step = next_step(silence, answers=answers, now=now, patience=PATIENCE)
        steps.append(step)
    return steps


def test_who_does_not_answer_is_replaced_and_then_broken_off() -> None:
    looks = [(10.0, False)] * 20
    steps = climbed(looks)
    assert [number for number, step in enumerate(steps) if step is not Step.WAIT] == [6, 12, 18]
    assert [step for step in steps if step is not Step.WAIT] == [Step.REPLACE, Step.BREAK_OFF, Step.BREAK_OFF]


def test_an_answer_is_a_new_beginning() -> None:
    looks = [(50.0, False), (50.0, False), (1.0, True), (50.0, False), (50.0, False), (50.0, False)]
    assert climbed(looks) == [Step.WAIT] * 5 + [Step.REPLACE]


@given(st.lists(st.tuples(st.floats(0.1, 100.0), st.booleans()), max_size=40))
def test_nothing_is_done_to_who_has_answered_within_the_patience(looks: list[tuple[float, bool]]) -> None:
    last, now = 0.0, 0.0
    for (passed, answers), step in zip(looks, climbed(looks), strict=True):
        now += passed
        last = now if answers else last
        assert step is Step.WAIT or now - last >= PATIENCE


def working() -> int:
    """Threads of lanes; the process has others."""
    return sum(thread.name == "apart" for thread in threading.enumerate())


async def test_what_hangs_for_one_key_holds_up_no_other() -> None:
    lanes, over = Lanes(), threading.Event()
    hanging = [asyncio.ensure_future(lanes.run(f"dead-{number}", over.wait)) for number in range(100)]
    more = [asyncio.ensure_future(lanes.run("dead-0", over.wait)) for _ in range(MOST)]
    async with asyncio.timeout(5):
        assert await lanes.run("well", lambda: 7) == 7
    await until(lambda: working() >= 100 + MOST - 1)
    assert working() == 100 + MOST - 1, "of one key there are only so many"
    more[-1].cancel()
    over.set()
    assert await asyncio.gather(*hanging, *more[:-1]) == [True] * (99 + MOST)


async def test_a_fault_is_told_to_who_waits() -> None:
    lanes = Lanes()
    with pytest.raises(ValueError, match="invalid literal"):
        await lanes.run("key", lambda: int("x"))
    assert await lanes.run("key", lambda: 1) == 1
