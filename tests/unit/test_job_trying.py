"""What fails is tried again, later each time, and at once again after it went well."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise

from paddleflow.problems import Unavailable
from pf_job.driving.trying import LONGEST_BACKOFF, Trying
from support.virtual_time import run_virtually

OFTEN = 20
FIRST = 0.2
"""Seconds within which something that failed once is tried again."""

Step = Callable[[], Awaitable[int]]


class Over(Exception):
    """Ends what goes on for ever."""


async def times_of(step: Callable[[Trying, int], Awaitable[int]]) -> Sequence[float]:
    """When a step is done, which is told how often it was done before."""
    trying, times = Trying("test"), list[float]()

    async def timed() -> int:
        times.append(asyncio.get_running_loop().time())
        if len(times) > OFTEN:
            raise Over
        return await step(trying, len(times) - 1)

    try:
        await trying.keep_on(timed, lambda: asyncio.sleep(100))
    except Over:
        return times
    raise AssertionError


def pauses(times: Sequence[float]) -> Sequence[float]:
    return [after - before for before, after in pairwise(times)]


async def fail(_: Trying, number: int) -> int:
    raise Unavailable(str(number))


def test_what_fails_again_and_again_waits_longer_and_longer_up_to_a_limit() -> None:
    async def main() -> None:
        found = pauses(await times_of(fail))
        assert 0 < found[0] < FIRST
        assert LONGEST_BACKOFF / 2 <= found[-1] <= LONGEST_BACKOFF

    run_virtually(main())


def test_a_step_that_did_something_is_done_again_at_once_and_others_pause() -> None:
    async def main() -> None:
        found = pauses(await times_of(lambda _, number: asyncio.sleep(0, result=number % 2)))
        assert [round(each) for each in found] == [100, 0] * (OFTEN // 2)

    run_virtually(main())


def test_failures_are_forgotten_when_it_goes_well_once() -> None:
    async def mostly(_: Trying, number: int) -> int:
        if number % 5 == 4:
            return 1
        raise Unavailable(str(number))

    async def main() -> None:
        assert max(pauses(await times_of(mostly))) < LONGEST_BACKOFF / 2

    run_virtually(main())


def test_what_goes_well_for_long_and_then_fails_is_tried_again_soon() -> None:
    async def long(trying: Trying, number: int) -> int:
        trying.went_well()
        return await fail(trying, number)

    async def main() -> None:
        assert max(pauses(await times_of(long))) < FIRST

    run_virtually(main())
