"""Runs for ticks in the past."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from paddleflow.problems import InvalidArgument
from pf_pipeline.schedules.backfill import Backfill, Filled, Span
from pf_pipeline.schedules.domain import Policy, Tick, TickKey
from support.hand_clock import HandClock
from support.schedules import MINUTE, START, Kept, a_schedule, kept_in_memory

ID = "schedule-000001"


@pytest.fixture
async def kept() -> Kept:
    """A schedule that has runs for its third and fourth tick, and passed over its fifth."""
    kept = kept_in_memory(HandClock((START + 60 * MINUTE).timestamp()))
    await kept.add(a_schedule(concurrency=1, policy=Policy.SKIP))
    async with kept.database.change() as change:
        schedule = await kept.get(ID)
        await Backfill(store=kept.store, runs=kept.runs).fill(change, schedule, span(3, 4))
        await kept.store.keep_ticks(change, [Tick(TickKey(ID, START + 5 * MINUTE), "run-000009", skipped=True)])
    await kept.end("run-000001")
    await kept.end("run-000002", "failed")
    return kept


def span(first: int, last: int, **more: bool) -> Span:
    return Span(since=START + first * MINUTE, until=START + last * MINUTE, **more)


async def filled(kept: Kept, wanted: Span) -> Sequence[Filled]:
    async with kept.database.change() as change:
        return await Backfill(store=kept.store, runs=kept.runs).fill(change, await kept.get(ID), wanted)


def told(filled: Sequence[Filled]) -> list[tuple[int, str, bool]]:
    return [((each.time - START) // MINUTE, each.run, each.new) for each in filled]


async def test_ticks_without_a_run_get_one(kept: Kept) -> None:
    assert told(await filled(kept, span(2, 6))) == [
        (2, "run-000003", True),
        (3, "run-000001", False),
        (4, "run-000002", False),
        (5, "run-000004", True),
        (6, "run-000005", True),
    ]
    assert not any(new for _, _, new in told(await filled(kept, span(2, 6))))


async def test_ticks_whose_run_failed_get_another_on_request(kept: Kept) -> None:
    assert told(await filled(kept, span(3, 4, again=True))) == [(3, "run-000001", False), (4, "run-000003", True)]


async def test_the_newest_can_come_first(kept: Kept) -> None:
    assert told(await filled(kept, span(1, 2, reverse=True))) == [(2, "run-000003", True), (1, "run-000004", True)]


async def test_a_plan_makes_nothing(kept: Kept) -> None:
    async with kept.database.change() as change:
        planned = await Backfill(store=kept.store, runs=kept.runs).plan(change, await kept.get(ID), span(2, 3))
    assert told(planned) == [(2, "", True), (3, "run-000001", False)]
    assert len(await kept.runs.all(kept.database.newest)) == 2


async def test_ticks_before_the_start_can_be_asked_for(kept: Kept) -> None:
    assert [minute for minute, _, _ in told(await filled(kept, span(-2, -1)))] == [-2, -1]


@pytest.mark.parametrize(
    ("wanted", "field", "message"),
    [
        (span(59, 61), "until", "must not be later than now"),
        (span(5, 4), "from", "must not be later than `until`"),
        (span(-1000, 0), "until", "leaves more than 1000 ticks; ask for a smaller range"),
    ],
)
async def test_a_range_that_cannot_be_is_refused(kept: Kept, wanted: Span, field: str, message: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        await filled(kept, wanted)
    assert [(each.field, each.description) for each in caught.value.violations] == [(field, message)]


async def test_a_thousand_ticks_are_not_too_many(kept: Kept) -> None:
    assert len(await filled(kept, span(-999, 0))) == 1000
    assert timedelta(minutes=1) == MINUTE
