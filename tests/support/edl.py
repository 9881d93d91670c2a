"""The published experiment of EDL, the elastic training of PaddlePaddle Cloud, played in a world in virtual time.

Replicas and times are those of the experiment, on a tenth fewer cores than it had. How long a replica took to begin and
to end is not known of it; here it is as long as containers take whose image is there, and programs that save what they
have when they are told to stop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from support.elastic_world import Pace, Part, World

CORES = 2066
PACE = Pace(begin=(2.0, 8.0), end=(1.0, 10.0))
JOBS = 20
INTERVAL = 10
"""Seconds between two jobs."""
AFTER = 300
"""Seconds from the last job until all are ended."""
STEADY = 5
SAMPLE = 5
TRAINING = (Part("master", 1, 1, 1), Part("pserver", 10, 10, 4, stage=1), Part("worker", 2, 60, 5, stage=2))
WEB = (Part("nginx", 1, 1, 3),)
MOST, LEAST = 400, 100
ALL_WEB = MOST * WEB[0].cores
HOLD = 90
"""Seconds between two changes of the load of the web servers."""
LOADS = (400, 300, 200, 100, 200, 300, 400)
FEW = 6
"""Jobs beside the web servers."""


@dataclass
class Training:
    """What the jobs of the first case saw."""

    pending: float
    """Mean seconds until the first trainer of a job ran."""
    used: float
    """Mean part of the cores."""
    plateau: float
    """The same when all jobs are there, and until they are ended."""


def training(seed: int) -> Training:
    """Only training: one job after the other."""
    world = World(CORES, {"train": (CORES, CORES)}, PACE, seed)
    samples: list[tuple[float, float]] = []
    end = (JOBS - 1) * INTERVAL + AFTER
    for second in range(0, end, SAMPLE):
        if second % INTERVAL == 0 and second // INTERVAL < JOBS:
            world.submit(f"job-{second // INTERVAL}", "train", TRAINING, STEADY)
        world.until(second + SAMPLE)
        samples.append((world.now, world.used))
    waits = world.waits()
    plateau = [used for time, used in samples if time >= AFTER]
    mean = sum(used for _, used in samples) / len(samples)
    return Training(sum(waits) / len(waits), mean, sum(plateau) / len(plateau))


@dataclass
class Sharing:
    """What web servers and jobs saw of one another in the second case."""

    used: float
    off_peak: float
    """Mean part of the cores while there are fewest web servers."""
    regained: dict[int, float] = field(default_factory=dict)
    """By the number of web servers that were wanted again, seconds until they ran."""


class Web:
    """Web servers of a queue that is guaranteed what all of them take."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._names: list[str] = []
        self._number = 0

    def want(self, wanted: int) -> None:
        while len(self._names) > wanted:
            self._world.stop(self._names.pop())
        while len(self._names) < wanted:
            self._number += 1
            self._names.append(f"web-{self._number}")
            self._world.submit(self._names[-1], "web", WEB, 0)

    @property
    def running(self) -> int:
        return sum(bool(self._world.jobs[name].running) for name in self._names)


def sharing(seed: int) -> Sharing:
    """Web servers whose load falls and rises again, and jobs that use what they leave."""
    world = World(CORES, {"web": (ALL_WEB, CORES), "train": (CORES - ALL_WEB, CORES)}, PACE, seed)
    web = Web(world)
    web.want(LOADS[0])
    world.until(HOLD)
    for number in range(FEW):
        world.submit(f"job-{number}", "train", TRAINING, STEADY)
    found, samples = Sharing(0.0, 0.0), list[tuple[int, float]]()
    before = 0
    for wanted in LOADS:
        web.want(wanted)
        for time in _seconds(world):
            samples.append((wanted, world.used))
            if wanted > before > 0 and web.running == wanted:
                found.regained.setdefault(wanted, time)
        before = wanted
    found.used = sum(used for _, used in samples) / len(samples)
    off_peak = [used for wanted, used in samples if wanted == LEAST]
    found.off_peak = sum(off_peak) / len(off_peak)
    return found


def _seconds(world: World) -> Iterator[float]:
    """The seconds for which a load is held."""
    begin = world.now
    for second in range(1, HOLD + 1):
        world.until(begin + second)
        yield world.now - begin
