"""Answers of other services that are used for some seconds."""

from __future__ import annotations

import asyncio

import pytest

from paddleflow.problems import Unavailable
from pf_job.peers_grpc import FRESH_SECONDS, Recent
from support.hand_clock import HandClock
from support.waiting import eventually, until


class Other:
    """Another service, which answers when the test wants."""

    def __init__(self) -> None:
        self.asked = 0
        self.may_answer = asyncio.Event()
        self.fails = False

    async def ask(self) -> int:
        self.asked += 1
        await self.may_answer.wait()
        if self.fails:
            raise Unavailable("away")
        return self.asked


async def test_an_answer_is_asked_for_once_as_long_as_it_is_fresh() -> None:
    clock, other = HandClock(), Other()
    recent: Recent[int] = Recent(clock)
    both = asyncio.gather(recent.get("key", other.ask), recent.get("key", other.ask))
    other.may_answer.set()
    assert list(await both) == [1, 1]
    assert await recent.get("key", other.ask) == 1
    clock.ticks += FRESH_SECONDS
    assert await recent.get("key", other.ask) == 2


async def test_a_failure_is_not_kept() -> None:
    other = Other()
    recent: Recent[int] = Recent(HandClock())
    other.may_answer.set()
    other.fails = True
    with pytest.raises(Unavailable):
        await recent.get("key", other.ask)
    other.fails = False
    assert await recent.get("key", other.ask) == 2


async def test_a_failure_for_which_nobody_waited_is_not_kept_either() -> None:
    other = Other()
    recent: Recent[int] = Recent(HandClock())
    waiting = asyncio.create_task(recent.get("key", other.ask))
    await until(lambda: other.asked == 1)
    waiting.cancel()
    await asyncio.wait([waiting])
    other.fails = True
    other.may_answer.set()

    async def asked_anew() -> bool:
        try:
            return await recent.get("key", other.ask) == 2
        except Unavailable:
            return False
        finally:
            other.fails = False

    await eventually(asked_anew, 1.0)
