"""What replicas used, by what was seen of them now and then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_job.runtimes.port import ReplicaKey, Sample
from pf_job.statistics.curves import MOST_STEPS, SECOND, Grid, Metric, curves, grid
from pf_job.statistics.domain import Metered, Summary, Window, summary, together

MIB = 2**20
DAY = 86_400 * SECOND


def cpu(*seen: tuple[float, float]) -> list[Sample]:
    """Samples at seconds, with core-seconds."""
    return [Sample(time=round(time * SECOND), cpu=round(used * SECOND)) for time, used in seen]


def memory(*seen: tuple[float, int]) -> list[Sample]:
    return [Sample(time=round(time * SECOND), memory=used * MIB) for time, used in seen]


def told(samples: Sequence[Sample], metric: Metric, begin: float = 0, end: float = 1_000) -> Summary:
    found = summary(curves(samples)[metric], Window(round(begin * SECOND), round(end * SECOND)), None)
    assert found is not None
    return found


def test_a_rate_has_a_total_a_mean_and_a_peak() -> None:
    found = told(cpu((0, 0), (10, 5), (20, 25)), Metric.CPU)
    assert (found.total, found.average, found.peak) == (25, 1.25, 2)


def test_a_part_of_the_time_has_its_part_of_the_total() -> None:
    found = told(cpu((0, 0), (10, 5), (20, 25)), Metric.CPU, 5, 12)
    assert (found.total, found.average) == pytest.approx((2.5 + 4, 6.5 / 7))
    assert found.peak == 2
    assert told(cpu((0, 0), (10, 5), (20, 25)), Metric.CPU, 1, 9).peak == 0.5


def test_a_level_has_the_mean_of_what_lay_between() -> None:
    found = told(memory((1, 10), (11, 30)), Metric.MEMORY)
    assert (found.average, found.peak) == (20 * MIB, 30 * MIB)


def test_the_most_that_the_kernel_saw_counts() -> None:
    seen = [*memory((1, 10), (11, 10)), Sample(time=12 * SECOND, peak=50 * MIB)]
    found = told(seen, Metric.MEMORY)
    assert (found.average, found.peak) == (10 * MIB, 50 * MIB)
    short = told([Sample(time=0, cpu=0), Sample(time=1, cpu=1, peak=7)], Metric.MEMORY)
    assert (short.average, short.peak) == (None, 7)


def test_a_count_that_goes_back_stands_still() -> None:
    found = told(cpu((0, 0), (10, 5), (20, 3), (30, 6)), Metric.CPU)
    assert (found.total, found.peak) == (6, 0.5)


def test_accelerators_are_told_as_such() -> None:
    seen = [Sample(time=0, accelerator=500, accelerator_memory=3), Sample(time=SECOND, accelerator=1_500)]
    assert told(seen, Metric.ACCELERATOR).average == 1.0
    assert told(seen, Metric.ACCELERATOR_MEMORY).peak == 3


def test_what_was_never_seen_is_not_told() -> None:
    assert set(curves([Sample(time=0, cpu=0, read=0), Sample(time=5, cpu=1)])) == {Metric.CPU}
    assert summary(curves(cpu((10, 0), (20, 1)))[Metric.CPU], Window(0, 5 * SECOND), None) is None


def test_steps_tell_means_and_what_is_not_known() -> None:
    curve = curves(cpu((0, 0), (10, 5), (20, 25)))[Metric.CPU]
    assert curve.means(Grid(-10 * SECOND, 10 * SECOND, 4)) == [None, 0.5, 2, None]
    assert curve.means(Grid(5 * SECOND, 10 * SECOND, 2)) == [pytest.approx(1.25), 2]


@pytest.mark.parametrize(
    ("span", "asked", "step", "count", "coarser"),
    [
        (0, None, 1, 0, False),
        (90, None, 1, 90, False),
        (1_000, None, 1, 1_000, False),
        (1_001, None, 2, 501, False),
        (86_400, None, 120, 720, False),
        (86_400, 600, 600, 144, False),
        (86_400, 1, 120, 720, True),
        (86_400 * 400, None, 36_000, 960, False),
    ],
)
def test_there_are_never_too_many_steps(span: int, asked: int | None, step: int, count: int, coarser: bool) -> None:
    found = grid(7, 7 + span * SECOND, None if asked is None else asked * SECOND)
    assert found == Grid(7, step * SECOND, count, coarser)


@given(st.integers(0, 2**50), st.integers(0, 400 * DAY), st.none() | st.integers(SECOND, 400 * DAY))
def test_steps_cover_the_time_and_no_more(begin: int, span: int, step: int | None) -> None:
    found = grid(begin, begin + span, step)
    assert found.count <= MOST_STEPS
    assert found.count * found.step >= span
    assert (found.count - 1) * found.step < max(span, 1)
    assert found.coarser == (step is not None and found.step > step)


SEEN = st.lists(
    st.tuples(st.integers(1, 3_600 * SECOND), st.integers(0, 100 * SECOND), st.integers(0, 2**40)),
    min_size=2,
    max_size=50,
)


def _samples(seen: Sequence[tuple[int, int, int]]) -> list[Sample]:
    """Made of what lies between two looks, and of what was used meanwhile."""
    time = used = 0
    found = [Sample(time=0, cpu=0, memory=5)]
    for pause, more, level in seen:
        time, used = time + pause, used + more
        found.append(Sample(time=time, cpu=used, memory=level))
    return found


@given(SEEN, st.integers(1, 600))
def test_steps_come_to_the_total(seen: list[tuple[int, int, int]], seconds: int) -> None:
    samples = _samples(seen)
    last = samples[-1].time
    steps = Grid(0, -(-last // seconds), seconds)
    for metric, curve in curves(samples).items():
        means = curve.means(steps)
        lengths = [min(end, last) - begin for begin, end in steps.steps()]
        total = sum(mean * length / SECOND for mean, length in zip(means, lengths, strict=True) if mean is not None)
        whole = summary(curve, Window(0, last), None)
        assert whole is not None
        assert total == pytest.approx(whole.total, rel=1e-6, abs=1e-6), metric


@given(SEEN, st.integers(0, 10**9), st.integers(1, 10**9))
def test_no_mean_is_above_the_peak(seen: list[tuple[int, int, int]], begin: int, length: int) -> None:
    for curve in curves(_samples(seen)).values():
        found = summary(curve, Window(begin, begin + length), None)
        if found is not None and found.average is not None:
            assert found.average <= found.peak * (1 + 1e-6) + 1e-6


def _metered(index: int, samples: Sequence[Sample], steps: Grid, asked: float | None = None) -> Metered:
    found = curves(samples)
    window = Window(steps.start, steps.start + steps.count * steps.step)
    summaries = {metric: summary(curve, window, asked) for metric, curve in found.items()}
    key = ReplicaKey("j", 1, "worker", index)
    return Metered(
        key,
        {metric: each for metric, each in summaries.items() if each},
        {metric: curve.means(steps) for metric, curve in found.items()},
    )


def test_replicas_together_use_what_each_does() -> None:
    steps = Grid(0, SECOND, 20)
    first = _metered(0, cpu((0, 0), (10, 10)), steps, 2)
    second = _metered(1, cpu((5, 0), (15, 20)), steps, 2)
    found = together([first, second])[Metric.CPU]
    assert (found.total, found.average, found.peak, found.asked) == (30, 2, 3, 4)
    assert together([first]) == first.summaries
    assert together([]) == {}


def test_a_replica_that_is_started_again_asks_for_no_more() -> None:
    steps = Grid(0, SECOND, 20)
    first = _metered(0, cpu((0, 0), (10, 10)), steps, 2)
    again = replace(first, key=replace(first.key, restart=1))
    other = _metered(1, cpu((0, 0), (10, 10)), steps, 2)
    found = together([first, again, other])[Metric.CPU]
    assert (found.total, found.asked) == (30, 4)
