"""The load generators of Kueue's scheduler performance suite, in real time through the public API.

A cohort is a queue whose guarantee is the sum of those below; a cluster queue is a queue with its nominal quota as
guarantee and its borrowing limit above that. A workload runs for its run time from admission on. Whoever is told to
leave does so at once, and runs from the beginning when it is admitted again.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench.queue_load import Load, load, workload
from paddleflow.queue.v1 import admission_pb2, workload_pb2
from support.figures import Figure

NOMINAL = 20
BORROWING = 100


@dataclass(frozen=True)
class Kind:
    """Workloads of one size; times in seconds."""

    name: str
    count: int
    interval: float
    runtime: float
    priority: int
    request: int


@dataclass(frozen=True)
class Suite:
    """One generator, and what Kueue's own CI makes of it."""

    name: str
    cohorts: int
    queues: int
    kinds: Sequence[Kind]
    seconds: float
    usage: float
    at_most: float

    @property
    def total(self) -> int:
        return self.cohorts * self.queues * sum(kind.count for kind in self.kinds)


BASELINE = Suite(
    "baseline",
    5,
    6,
    (
        Kind("small", 350, 0.1, 0.2, 50, 1),
        Kind("medium", 100, 0.5, 0.5, 100, 5),
        Kind("large", 50, 1.2, 1.0, 200, 20),
    ),
    seconds=351.1,
    usage=55.9,
    at_most=90.0,
)
LARGE_SCALE = Suite(
    "large-scale",
    10,
    100,
    (
        Kind("small", 35, 0.06, 0.15, 50, 1),
        Kind("medium", 11, 0.3, 0.35, 100, 5),
        Kind("large", 4, 0.7, 0.7, 200, 20),
    ),
    seconds=1179.0,
    usage=38.6,
    at_most=60.0,
)
WAITS: Mapping[str, Mapping[str, float]] = {
    "baseline": {"large": 16.5, "medium": 76.8, "small": 215.5},
    "large-scale": {"large": 105.6, "medium": 256.4, "small": 700.4},
}
"""Mean seconds that Kueue's own CI reports."""


@dataclass
class Play:
    """What happens while a generator runs."""

    site: Load
    suite: Suite
    submitted: dict[str, float] = field(default_factory=dict)
    admitted: dict[str, float] = field(default_factory=dict)
    waits: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    done: int = 0
    used: float = 0.0
    """Core seconds that workloads ran to their end with."""
    lost: float = 0.0
    """Core seconds of those that had to leave."""
    ended: asyncio.Queue[admission_pb2.Release] = field(default_factory=asyncio.Queue)
    running: set[asyncio.TimerHandle] = field(default_factory=set)

    def kind(self, job: str) -> Kind:
        return next(kind for kind in self.suite.kinds if job.startswith(kind.name))

    async def generate(self, kind: Kind) -> None:
        """Submits one workload of a kind to each queue, at each interval."""
        begun = time.perf_counter()
        for number in range(kind.count):
            await asyncio.sleep(max(0.0, begun + number * kind.interval - time.perf_counter()))
            batch = [
                workload(f"{kind.name}-{number}-{cohort}-{queue}", f"q{cohort}-{queue}", kind.request, kind.priority)
                for cohort in range(self.suite.cohorts)
                for queue in range(self.suite.queues)
            ]
            now = time.perf_counter()
            self.submitted.update((each.key.job_id, now) for each in batch)
            await self.site.submit(batch)

    async def follow(self) -> None:
        """Runs what is admitted, and stops what must leave."""
        request = admission_pb2.WatchWorkloadsRequest()
        async for page in self.site.admission.WatchWorkloads(request, metadata=self.site.metadata):
            for change in page.events:
                match change.event.WhichOneof("fact"):
                    case "admitted":
                        self._begin(change.event.admitted)
                    case "evicting":
                        self._leave(change.event.evicting)
                    case _:
                        pass

    def _begin(self, admitted: workload_pb2.Admitted) -> None:
        job, now = admitted.key.job_id, time.perf_counter()
        kind = self.kind(job)
        if admitted.key.attempt == 1:
            self.waits[kind.name].append(now - self.submitted[job])
        self.admitted[admitted.grant_id] = now
        asyncio.get_running_loop().call_later(kind.runtime, self._finish, admitted)

    def _finish(self, admitted: workload_pb2.Admitted) -> None:
        if self.admitted.pop(admitted.grant_id, None) is None:
            return
        kind = self.kind(admitted.key.job_id)
        self.done += 1
        self.used += kind.request * kind.runtime
        self._release(admitted.key, admitted.grant_id, workload_pb2.RELEASE_OUTCOME_FINISHED)

    def _leave(self, evicting: workload_pb2.Evicting) -> None:
        begun = self.admitted.pop(evicting.grant_id, None)
        if begun is not None:
            self.lost += self.kind(evicting.key.job_id).request * (time.perf_counter() - begun)
            self._release(evicting.key, evicting.grant_id, workload_pb2.RELEASE_OUTCOME_EVICTED)

    def _release(
        self, key: workload_pb2.WorkloadKey, grant: str, outcome: workload_pb2.ReleaseOutcome.ValueType
    ) -> None:
        self.ended.put_nowait(admission_pb2.Release(key=key, grant_id=grant, outcome=outcome))

    async def release(self) -> None:
        """Tells of all that has ended, as much at once as there is."""
        while True:
            batch = [await self.ended.get()]
            while not self.ended.empty() and len(batch) < 1000:
                batch.append(self.ended.get_nowait())
            request = admission_pb2.ReleaseWorkloadsRequest(releases=batch)
            await self.site.admission.ReleaseWorkloads(request, metadata=self.site.metadata)

    async def run(self) -> float:
        """Seconds from the first submission until all have run to their end."""
        begun = time.perf_counter()
        following = [asyncio.create_task(self.follow()), asyncio.create_task(self.release())]
        try:
            await asyncio.gather(*(self.generate(kind) for kind in self.suite.kinds))
            while self.done < self.suite.total:
                for task in following:
                    if task.done():
                        task.result()
                await asyncio.sleep(0.05)
            return time.perf_counter() - begun
        finally:
            for task in following:
                task.cancel()


async def played(suite: Suite) -> list[Figure]:
    async with load() as site:
        capacity = suite.cohorts * suite.queues * NOMINAL
        await site.machines(cpu=capacity)
        for cohort in range(suite.cohorts):
            share = suite.queues * NOMINAL
            await site.queue(f"cohort{cohort}", least=share, most=share)
            for queue in range(suite.queues):
                await site.queue(
                    f"q{cohort}-{queue}", f"cohort{cohort}", least=NOMINAL, most=min(share, NOMINAL + BORROWING)
                )
        play = Play(site, suite)
        seconds = await play.run()
    return told(suite, play, seconds, capacity)


def told(suite: Suite, play: Play, seconds: float, capacity: int) -> list[Figure]:
    name = f"Kueue's {suite.name}, {suite.total:,} workloads"
    waits = [
        Figure(
            f"{name}: mean wait of {kind.name}",
            sum(play.waits[kind.name]) / max(1, len(play.waits[kind.name])),
            "s",
            WAITS[suite.name][kind.name],
            at_most=5.0 if (suite.name, kind.name) == ("baseline", "large") else None,
        )
        for kind in suite.kinds
    ]
    return [
        Figure(f"{name}: to the end", seconds, "s", suite.seconds, at_most=suite.at_most),
        Figure(f"{name}: usage", play.used / (capacity * seconds) * 100, "%", suite.usage),
        Figure(f"{name}: run time lost to those who had to leave", play.lost / play.used * 100, "%"),
        *waits,
    ]


def baseline() -> list[Figure]:
    return asyncio.run(played(BASELINE))


def large_scale() -> list[Figure]:
    return asyncio.run(played(LARGE_SCALE))
