"""How much was used until when: of what was seen now and then, a curve; of a curve, means and peaks."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pf_job.runtimes.port import Sample

SECOND = 1_000_000
"""In microseconds, as all times here are."""
MILLE = 1_000


class Metric(StrEnum):
    """Something that a replica uses."""

    CPU = "cpu"
    """In cores."""
    MEMORY = "memory"
    """In bytes, as all amounts of data."""
    DISK_READ = "disk_read"
    DISK_WRITE = "disk_write"
    NETWORK_RECEIVE = "network_receive"
    NETWORK_SEND = "network_send"
    PROCESSES = "processes"
    ACCELERATOR = "accelerator"
    """In accelerators."""
    ACCELERATOR_MEMORY = "accelerator_memory"


@dataclass(frozen=True, slots=True)
class Curve:
    """How much was used in all, since it was first seen. Between two times it grew evenly."""

    times: Sequence[int]
    totals: Sequence[float]
    """In units times seconds: never less than before."""
    highs: Sequence[float]
    """The most in use at one time, since the time before."""

    def until(self, time: int) -> float:
        """The total at a time. Before the first and after the last time nothing is known, and nothing added."""
        place = bisect_right(self.times, time)
        if place == 0:
            return self.totals[0]
        if place == len(self.times):
            return self.totals[-1]
        begin, end = self.times[place - 1], self.times[place]
        low, high = self.totals[place - 1], self.totals[place]
        return low + (high - low) * (time - begin) / (end - begin)

    def known(self, begin: int, end: int) -> tuple[int, int]:
        """The part of a window in which it is known."""
        return max(begin, self.times[0]), min(end, self.times[-1])

    def mean(self, begin: int, end: int) -> float | None:
        """The mean over the part of a window in which it is known; None if there is none."""
        first, last = self.known(begin, end)
        return (self.until(last) - self.until(first)) * SECOND / (last - first) if first < last else None

    def peak(self, begin: int, end: int) -> float | None:
        """The most in use at one time, as far as that can be told; None if it is not known in this window."""
        if end < self.times[0] or begin > self.times[-1]:
            return None
        # What was highest since the time before may have been so in the window.
        first, last = bisect_left(self.times, begin), bisect_right(self.times, end)
        return max(self.highs[first : last + 1])

    def means(self, grid: Grid) -> list[float | None]:
        """Its mean in each step."""
        return [self.mean(begin, end) for begin, end in grid.steps()]


@dataclass(frozen=True, slots=True)
class Grid:
    """Steps of one length, one after the other."""

    start: int
    step: int
    count: int
    coarser: bool = False
    """True if the steps are longer than somebody asked for."""

    def steps(self) -> Iterator[tuple[int, int]]:
        for number in range(self.count):
            begin = self.start + number * self.step
            yield begin, begin + self.step


MOST_STEPS = 1_000
ROUND = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600)
"""Seconds that people like steps to last; longer ones are whole hours."""


def grid(begin: int, end: int, step: int | None) -> Grid:
    """The steps of a window: as asked for, or as fine as there may be."""
    span = max(0, end - begin)
    wanted = step or SECOND
    if span > wanted * MOST_STEPS:
        return _grid(begin, span, _rounded(-(-span // MOST_STEPS)), coarser=step is not None)
    return _grid(begin, span, wanted, coarser=False)


def _grid(begin: int, span: int, step: int, *, coarser: bool) -> Grid:
    return Grid(begin, step, -(-span // step), coarser)


def _rounded(step: int) -> int:
    """The next longer step that people like."""
    hours = -(-step // (3_600 * SECOND)) * 3_600
    return next((seconds for seconds in ROUND if seconds * SECOND >= step), hours) * SECOND


def curves(samples: Sequence[Sample]) -> Mapping[Metric, Curve]:
    """What is known of a replica."""
    found = {metric: _of_rate(samples, count, unit) for metric, (count, unit) in RATES.items()}
    found |= {metric: _of_level(samples, level, unit) for metric, (level, unit) in LEVELS.items()}
    return {metric: curve for metric, curve in found.items() if curve is not None}


Field = Callable[[Sample], int | None]

RATES: Mapping[Metric, tuple[Field, int]] = {
    Metric.CPU: (lambda sample: sample.cpu, SECOND),
    Metric.DISK_READ: (lambda sample: sample.read, 1),
    Metric.DISK_WRITE: (lambda sample: sample.written, 1),
    Metric.NETWORK_RECEIVE: (lambda sample: sample.received, 1),
    Metric.NETWORK_SEND: (lambda sample: sample.sent, 1),
}
"""What is counted from the beginning on, and how many of it make one."""
LEVELS: Mapping[Metric, tuple[Field, int]] = {
    Metric.MEMORY: (lambda sample: sample.memory, 1),
    Metric.PROCESSES: (lambda sample: sample.processes, 1),
    Metric.ACCELERATOR: (lambda sample: sample.accelerator, MILLE),
    Metric.ACCELERATOR_MEMORY: (lambda sample: sample.accelerator_memory, 1),
}
"""What is seen as it is at a moment, and how many of it make one."""


def _of_rate(samples: Sequence[Sample], count: Field, unit: int) -> Curve | None:
    counted = [(sample.time, found) for sample in samples if (found := count(sample)) is not None]
    # That nothing was used at the beginning is no measurement.
    if len(counted) < 2:
        return None
    times, totals, highs = [counted[0][0]], [counted[0][1] / unit], [0.0]
    for time, total in counted[1:]:
        # What a process used may be out of sight when it is gone.
        grown = max(total / unit, totals[-1])
        if time > times[-1]:
            highs.append((grown - totals[-1]) * SECOND / (time - times[-1]))
            times.append(time)
            totals.append(grown)
    return Curve(times, totals, highs)


def _of_level(samples: Sequence[Sample], level: Field, unit: int) -> Curve | None:
    times: list[int] = []
    totals: list[float] = []
    highs: list[float] = []
    last: float | None = None
    for sample in samples:
        told, peak = level(sample), sample.peak if level is LEVELS[Metric.MEMORY][0] else None
        if (told is None and peak is None) or (times and sample.time <= times[-1]):
            continue
        now = last if told is None else told / unit
        spent = 0.0 if last is None or now is None else (last + now) / 2 * (sample.time - times[-1]) / SECOND
        times.append(sample.time)
        totals.append((totals[-1] if totals else 0.0) + spent)
        highs.append(max(last or 0.0, now or 0.0, peak or 0))
        last = now
    return Curve(times, totals, highs) if times else None
