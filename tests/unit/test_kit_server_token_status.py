"""What is remembered of tokens, and for how long."""

from __future__ import annotations

import asyncio
import gc

import pytest

from paddleflow.problems import DatabaseUnavailable
from pf_kit import token_status
from pf_kit.token_status import FRESH, LONGEST, CachedTokenStatus
from support.hand_clock import HandClock
from support.token_source import Source
from support.waiting import until


async def test_an_answer_is_kept_while_it_is_fresh() -> None:
    clock, source = HandClock(), Source()
    status = CachedTokenStatus(source, clock)
    await status.check("t1")
    clock.ticks = FRESH - 0.01
    await status.check("t1")
    assert source.asked == 1
    clock.ticks = FRESH
    await status.check("t1")
    assert source.asked == 2


async def test_a_revocation_is_noticed_within_the_promised_time_even_without_a_source() -> None:
    clock, source = HandClock(), Source()
    status = CachedTokenStatus(source, clock)
    await status.check("t1")
    source.problem = DatabaseUnavailable()
    clock.ticks = LONGEST - 0.01
    assert await status.check("t1") == source.state
    clock.ticks = LONGEST
    with pytest.raises(DatabaseUnavailable):
        await status.check("t1")


async def test_without_an_answer_an_unavailable_source_is_told() -> None:
    with pytest.raises(DatabaseUnavailable):
        await CachedTokenStatus(Source(problem=DatabaseUnavailable()), HandClock()).check("t1")


async def test_of_many_calls_only_one_asks() -> None:
    source = Source()
    source.gate.clear()
    status = CachedTokenStatus(source, HandClock())
    calls = [asyncio.create_task(status.check("t1")) for _ in range(20)]
    await asyncio.sleep(0)
    calls[0].cancel()
    source.gate.set()
    assert await asyncio.gather(*calls[1:]) == [source.state] * 19
    assert source.asked == 1


async def test_a_failure_that_nobody_waits_for_is_no_fault() -> None:
    """Else the event loop logs `Task exception was never retrieved`."""
    told: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["message"]))
    source = Source(problem=DatabaseUnavailable())
    source.gate.clear()
    status = CachedTokenStatus(source, HandClock())
    caller = asyncio.create_task(status.check("t1"))
    await until(lambda: source.asked == 1)
    caller.cancel()
    await asyncio.wait([caller])
    source.gate.set()
    await until(lambda: asyncio.all_tasks() == {asyncio.current_task()})
    # Its traceback keeps the task.
    source.problem = None
    gc.collect()
    assert told == []


async def test_an_answer_from_before_a_revocation_is_not_kept() -> None:
    source = Source()
    source.gate.clear()
    status = CachedTokenStatus(source, HandClock())
    early = asyncio.create_task(status.check("t1"))
    await asyncio.sleep(0)
    source.state = None
    status.forget("t1")
    source.gate.set()
    await early
    assert await status.check("t1") is None


async def test_clearing_forgets_every_answer() -> None:
    source = Source()
    status = CachedTokenStatus(source, HandClock())
    await status.check("t1")
    await status.check("t2")
    status.clear()
    await status.check("t1")
    await status.check("t2")
    assert source.asked == 4


async def test_the_memory_of_answers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_status, "CACHE_SIZE", 2)
    source = Source()
    status = CachedTokenStatus(source, HandClock())
    for token_id in ("t1", "t2", "t3", "t1"):
        await status.check(token_id)
    assert source.asked == 4
