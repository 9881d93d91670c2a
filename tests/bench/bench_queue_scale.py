"""Where admission bends: how its costs grow with machines, queues and those who wait. Without a database.

All sizes together take five minutes on an idle machine.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from multiprocessing import get_context
from random import Random
from resource import RUSAGE_SELF, getrusage

import psutil

from bench.queue_rules import grouped
from pf_queue.admission.core.explain import explain
from pf_queue.admission.core.pool import SECOND, Tuning
from pf_queue.admission.domain import DecisionKind, Key, Outcome, Patience, Record, RoleRequest, Spec, WorkloadState
from pf_queue.admission.engine import Engine
from pf_queue.admission.layout import Layout, PoolId, PoolLayout
from pf_queue.quota.domain import QueueState
from pf_queue.resources import Resources
from support.figures import Figure, percentile

MACHINE = {"cpu": 64_000, "gpu": 8, "memory": 256}
SIZES = ((1000, 0, 4), (4000, 1, 16), (8000, 2, 32), (16_000, 4, 64), (32_000, 8, 128), (2000, 0, 8))
"""Of which workloads there are as many of each: about seven fill a machine."""
RUNNING = 7
"""Workloads that run on a machine, about."""
ROUNDS = 300
"""Rounds that are measured, at most."""
PATIENCE = 8.0
"""Seconds after which no more are measured."""
ASKED = 300
"""Workloads of which it is asked why they wait."""


@dataclass(frozen=True)
class Size:
    """How large an installation is."""

    machines: int
    queues: int
    waiting: int
    pools: int = 1

    def __str__(self) -> str:
        told = f"{self.machines:,} machines, {self.queues:,} queues, {self.waiting:,} wait"
        return f"{told}, {self.pools:,} pools" if self.pools > 1 else told


LARGEST = Size(10_000, 10_000, 1_000_000)
SEVERAL = replace(LARGEST, pools=100)
BY_WAITING = tuple(Size(100, 100, waiting) for waiting in (1_000, 10_000, 100_000, 1_000_000))
BY_QUEUES = tuple(Size(100, queues, 10_000) for queues in (10, 100, 1_000, 10_000))
BY_MACHINES = tuple(Size(machines, 100, 10_000) for machines in (100, 1_000, 10_000))


def layout(size: Size, *, weight: int = 100) -> Layout:
    """Each pool has its part of the queues, in groups; `weight` is that of the first queue of each."""
    pools = {PoolId(f"c{pool}"): _pool(size, pool, weight) for pool in range(size.pools)}
    pool_of = {rules.name: id_ for id_, pool in pools.items() for rules in pool.queues}
    return Layout(pools, pool_of, dict.fromkeys(pool_of, QueueState.OPEN))


def _pool(size: Size, pool: int, weight: int) -> PoolLayout:
    machines, queues = size.machines // size.pools, size.queues // size.pools
    capacity = {name: amount * machines for name, amount in MACHINE.items()}
    part = {name: amount / queues for name, amount in capacity.items()}
    first = f"p{pool}q0"
    rules = [
        replace(each, weight=weight) if each.name == first else each
        for each in grouped(queues, capacity, part, {}, f"p{pool}")
    ]
    sizes = (Resources(MACHINE),) * machines
    return PoolLayout(tuple(rules), Resources(capacity), sizes, reported=True, online=True)


@dataclass
class Installation:
    """All that a leader has in memory: machines that are full, and those who wait for them."""

    size: Size
    chance: Random = field(default_factory=lambda: Random(1))
    now: int = 0
    rounds: list[float] = field(default_factory=list)
    running: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        before = _resident()
        self.engine = Engine(Tuning(), Patience())
        wanted = layout(self.size)
        self.planting = _seconds(lambda: self.engine.arrange(wanted, 0))
        with _uncollected():
            records = list(self.records())
            self.restoring = _seconds(lambda: self.engine.restore(records, 0))
            self.memory = _resident() - before
            self.filling = _seconds(self._fill) / max(1, len(self.running))

    def records(self) -> Iterator[Record]:
        own, pools = self.size.queues // self.size.pools, self.size.pools
        requests = [RoleRequest("worker", 1, 1, 1, Resources({"cpu": c, "gpu": g, "memory": m})) for c, g, m in SIZES]
        for number in range(self.size.waiting + RUNNING * self.size.machines):
            queue = f"p{number % pools}q{self.chance.randrange(own)}"
            spec = Spec(key=Key(f"job-{number:08}", 1), queue=queue, user="u", roles=(self.chance.choice(requests),))
            yield Record(spec=spec, number=number, submitted=number, cluster="c")

    @cached_property
    def bytes_each(self) -> float:
        return self.memory / (self.size.waiting + RUNNING * self.size.machines)

    def _fill(self) -> None:
        """Rounds until nobody fits any more."""
        before = -1
        while len(self.running) > before:
            before = len(self.running)
            self.engine.round(self.now)
            self._note()

    def _note(self) -> list[Key]:
        """Who was told to leave."""
        gone = []
        for decided in self.engine.effects().decided:
            if decided.kind is DecisionKind.ADMIT:
                self.running.append(str(decided.key))
            elif decided.kind is DecisionKind.EVICT:
                gone.append(decided.key)
        return gone

    def play(self) -> None:
        """One after the other ends, a tenth of a second apart; what is decided then is timed."""
        begun = time.perf_counter()
        while len(self.rounds) < ROUNDS and time.perf_counter() < begun + PATIENCE:
            self.now += SECOND // 10
            self._end(self._anybody(), Outcome.FINISHED)
            self.rounds.append(_seconds(lambda: self.engine.round(self.now)))
            for key in self._note():
                self._end(str(key), Outcome.EVICTED)

    def _anybody(self) -> str:
        while True:
            at = self.chance.randrange(len(self.running))
            self.running[at], self.running[-1] = self.running[-1], self.running[at]
            id_ = self.running.pop()
            record = self.engine.records.get(id_)
            if record is not None and record.state is WorkloadState.ADMITTED:
                return id_

    def _end(self, id_: str, outcome: Outcome) -> None:
        record = self.engine.records[id_]
        self.engine.release(record.spec.key, record.grant, outcome, self.now)

    def explained(self) -> list[float]:
        """Seconds to say why one waits, and at which position."""
        waiting = [record for record in self.engine.records.values() if record.state is WorkloadState.PENDING]
        return [_seconds(partial(self._explain, each)) for each in self.chance.sample(waiting, ASKED)]

    def _explain(self, record: Record) -> None:
        pool = self.engine.pool_of(record.spec.queue)
        explain(pool, record.id, self.now)
        pool.waiting.position(record.id)

    def changed(self) -> float:
        """Seconds to take over that one queue of each pool has another weight."""
        wanted = layout(self.size, weight=200)
        with _uncollected():
            return _seconds(lambda: self.engine.arrange(wanted, self.now))


def figures() -> list[Figure]:
    """Each size in a process of its own: what one has freed would hide what the next one takes."""
    sizes = dict.fromkeys((*BY_WAITING, *BY_QUEUES, *BY_MACHINES, LARGEST, SEVERAL))
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as alone:
        return [figure for found in alone.map(measured, sizes) for figure in found]


def measured(size: Size) -> list[Figure]:
    installation = Installation(size)
    installation.play()
    rounds, explained = installation.rounds, installation.explained()
    return [
        Figure(f"tree set up: {size}", installation.planting * 1e3, "ms"),
        Figure(f"restore: {size}", installation.restoring, "s"),
        Figure(f"memory of each: {size}", installation.bytes_each, "bytes"),
        Figure(f"memory in all: {size}", installation.memory / 2**20, "MiB"),
        Figure(f"an admission, while it fills: {size}", installation.filling * 1e6, "µs"),
        Figure(f"a round after an end, p50: {size}", percentile(rounds, 0.5) * 1e3, "ms"),
        Figure(f"a round after an end, p99: {size}", percentile(rounds, 0.99) * 1e3, "ms"),
        Figure(f"explain and position, p99: {size}", percentile(explained, 0.99) * 1e6, "µs"),
        Figure(f"a change of the tree: {size}", installation.changed(), "s"),
        Figure(f"memory at the peak: {size}", getrusage(RUSAGE_SELF).ru_maxrss / 2**10, "MiB"),
    ]


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _resident() -> int:
    return int(psutil.Process().memory_info().rss)


@contextmanager
def _uncollected() -> Iterator[None]:
    """As a leader does: to look for garbage among all that comes to stay takes longer than to make it."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()
