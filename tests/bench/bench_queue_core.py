"""What one decision costs, without a database: admissions, releases and plans of who must leave.

What is measured is time of the processor, since others use the machine meanwhile.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random

from bench.queue_rules import grouped
from pf_queue.admission.core.amounts import Space
from pf_queue.admission.core.decisions import Admit
from pf_queue.admission.core.machines import Machines
from pf_queue.admission.core.places import Tree, plant
from pf_queue.admission.core.pool import Pool, Tuning
from pf_queue.admission.core.reclaim import plan
from pf_queue.admission.core.workloads import Role, Workload
from support.figures import Figure, percentile

RESOURCES = ("cpu", "gpu", "memory")
EACH = {"cpu": 64, "gpu": 8, "memory": 256}
"""What each queue brings in."""
SIZES = ((1, 0, 4), (4, 1, 16), (8, 2, 32), (16, 4, 64), (32, 8, 128), (2, 0, 8))
MEASURED = 3_000
"""Admissions of one measurement."""


def tree(queues: int) -> Tree:
    """Groups of queues, each with a guarantee and a ceiling of twice what it brings in."""
    space = Space.of(RESOURCES)
    capacity = {name: amount * queues for name, amount in EACH.items()}
    rules = grouped(queues, capacity, EACH, {name: amount * 2 for name, amount in EACH.items()})
    return plant(space, rules, capacity)


@dataclass
class Run:
    """A cluster that is always full, and always as many who wait: whenever nobody fits, the next one ends."""

    queues: int
    pending: int
    chance: Random = field(default_factory=lambda: Random(1))
    decided: list[float] = field(default_factory=list)
    released: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        planted = tree(self.queues)
        self.pool = Pool(planted, Machines(planted.space, [EACH]), Tuning(decisions=1, plans=0))
        self.ends: list[tuple[float, str]] = []
        self.now = 0.0
        self._number = 0
        for _ in range(self.pending):
            self._submit()
        while self._decide():
            pass

    def _submit(self) -> None:
        self._number += 1
        cpu, gpu, memory = self.chance.choice(SIZES)
        role = Role("worker", 1, 1, 1, (0, cpu, gpu, memory))
        queue, priority = f"q{self.chance.randrange(self.queues)}", self.chance.randrange(3)
        self.pool.submit(Workload(str(self._number), queue, "u", priority, (role,), self._number, self._number), 0)

    def _decide(self) -> bool:
        """One round; true if it has admitted somebody, who ends some time later, and whom somebody else follows."""
        admitted = [decision for decision in self.pool.round(0) if isinstance(decision, Admit)]
        for decision in admitted:
            heappush(self.ends, (self.now + self.chance.expovariate(1 / 600), decision.id))
            self._submit()
        return bool(admitted)

    def play(self, admissions: int) -> None:
        """Each round decides at most once, so that each decision is timed by itself.

        A round in which somebody is admitted has two searches: for whom, and whether anybody else may go then.
        """
        while admissions > 0:
            begun = time.thread_time()
            decisions = self.pool.round(0)
            self.decided.append(time.thread_time() - begun)
            for decision in decisions:
                assert isinstance(decision, Admit)
                admissions -= 1
                heappush(self.ends, (self.now + self.chance.expovariate(1 / 600), decision.id))
                self._submit()
            if not decisions:
                self.now, ended = heappop(self.ends)
                begun = time.thread_time()
                self.pool.release(ended)
                self.released.append(time.thread_time() - begun)


def measured(queues: int, pending: int) -> Run:
    run = Run(queues, pending)
    # As a leader does: what has come to stay is not looked through for garbage.
    gc.freeze()
    run.play(MEASURED)
    gc.unfreeze()
    return run


def typical(run: Run) -> float:
    """Seconds that an admission takes with the releases it needs."""
    return (sum(run.decided) + sum(run.released)) / max(1, len(run.decided))


def figures() -> list[Figure]:
    runs = {key: measured(*key) for key in ((100, 1_000), (100, 10_000), (100, 100_000), (10, 10_000), (1_000, 10_000))}
    small, deep = runs[100, 1_000], runs[100, 100_000]
    few, many = runs[10, 10_000], runs[1_000, 10_000]
    worst = max(percentile(run.decided, 0.99) for run in runs.values())
    usual = runs[100, 10_000]
    planned = percentile(list(plans()), 0.99) * 1e3
    return [
        Figure("core: a decision, p50 (100 queues, 10,000 wait)", percentile(usual.decided, 0.5) * 1e6, "µs"),
        Figure("core: a decision, p99, the worst of all sizes", worst * 1e6, "µs", at_most=100),
        Figure("core: cost at 100,000 waiting to that at 1,000", typical(deep) / typical(small), "times", at_most=1.5),
        # With 1,000 a queue has not all sizes yet; with 10,000 it has, and only the lines are longer with more.
        Figure("core: cost at 100,000 waiting to that at 10,000", typical(deep) / typical(usual), "times", at_most=1.5),
        Figure("core: cost at 1,000 queues to that at 10", typical(many) / typical(few), "times", at_most=2.0),
        Figure("core: admissions", 1 / typical(usual), "1/s"),
        Figure("core: a plan of who must leave, 1,000 queues, p99", planned, "ms", at_most=5.0),
    ]


def plans() -> Iterator[float]:
    """Seconds to find out who must leave: half of the queues have borrowed all, the others want their guarantee."""
    queues = 1_000
    planted = tree(queues)
    pool = Pool(planted, Machines(planted.space, [EACH]), Tuning(decisions=10**9, plans=0))
    role = Role("worker", 1, 1, 1, (0, 8, 1, 32))
    for number in range(queues * 8):
        pool.submit(Workload(f"b{number}", f"q{number % (queues // 2)}", "u", 0, (role,), number, number), 0)
    pool.round(0)
    gang = Role("worker", 4, 4, 1, (0, 8, 1, 32))
    for number in range(100):
        asking = Workload(f"a{number}", f"q{queues // 2 + number}", "u", 0, (gang,), number, 10**6 + number)
        begun = time.thread_time()
        victims = plan(pool.yard, asking, 0)
        yield time.thread_time() - begun
        assert victims
