"""What it costs to log the rounds of admission, without a database: the same life with a log and without."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from pf_queue.admission.core.pool import Tuning
from pf_queue.admission.domain import DecisionKind, Key, Outcome, Patience, RoleRequest, Spec
from pf_queue.admission.engine import Engine
from pf_queue.admission.engines import Engines, PlainEngines
from pf_queue.admission.journal.engines import RecordedEngines
from pf_queue.admission.journal.segments import Keeping, segments
from pf_queue.admission.journal.writer import Writer
from pf_queue.admission.layout import ClusterFacts, Layout
from pf_queue.clusters.domain import ClusterStatus, Node
from pf_queue.quota.domain import Queue
from pf_queue.resources import Resources
from support.figures import Figure
from support.rounds import replayed

QUEUES = 100
WORKLOADS = 5_000
AT_ONCE = 50
"""Workloads that come, and that end, between two commits."""
RUNS = 5
BEGIN = 10**15
EACH = Resources({"cpu": 64_000, "memory": 2**38})


@dataclass(frozen=True)
class Cost:
    """Of one life, in seconds of the processor, whichever thread it was."""

    seconds: float
    inputs: int


def layout() -> Layout:
    queues = [Queue(name=f"q{n}", cluster="c", min=EACH) for n in range(QUEUES)]
    nodes = [Node(name=f"n{n}", cluster="c", allocatable=EACH) for n in range(QUEUES)]
    return Layout.of([ClusterFacts("c", ClusterStatus.ONLINE, True, queues, nodes)])


def specs() -> Sequence[Spec]:
    chance = Random(1)
    return [
        Spec(
            key=Key(f"job-{number:08}", 1),
            queue=f"q{chance.randrange(QUEUES)}",
            user="somebody",
            roles=(RoleRequest("worker", 1, 1, 1, Resources({"cpu": 1000 << chance.randrange(3), "memory": 2**30})),),
        )
        for number in range(WORKLOADS)
    ]


def live(engines: Engines) -> Cost:
    """Each workload comes, starts, and ends."""
    engine, coming, running, inputs = engines.new(), specs(), list[Key](), 0
    engine.arrange(layout(), BEGIN)
    engine.restore([], BEGIN)
    begun = time.process_time()
    for first in range(0, WORKLOADS, AT_ONCE):
        now = BEGIN + first * 1000
        over, running = running[:AT_ONCE], running[AT_ONCE:]
        for spec in coming[first : first + AT_ONCE]:
            engine.submit(spec, now)
        for key in over:
            engine.release(key, str(key), Outcome.FINISHED, now)
        running += turn(engines, engine, now)
        inputs += AT_ONCE + len(over)
    return Cost(time.process_time() - begun, inputs)


def turn(engines: Engines, engine: Engine, now: int) -> Sequence[Key]:
    """Who was admitted."""
    while engine.round(now):
        pass
    effects = engine.effects()
    engines.stored()
    return [each.key for each in effects.decided if each.kind is DecisionKind.ADMIT]


def logged(folder: Path) -> Cost:
    writer = Writer(Keeping(folder, 2**30, 2), lambda: None)
    engines = RecordedEngines(Tuning(), Patience(), "bench", writer)
    cost = live(engines)
    before = time.process_time()
    engines.close()
    return Cost(cost.seconds + time.process_time() - before, cost.inputs)


def figures() -> list[Figure]:
    """The least of some, in turns, since others may be busy on the machine."""
    plain, costs = list[Cost](), list[Cost]()
    with TemporaryDirectory() as name:
        for number in range(RUNS):
            plain.append(live(PlainEngines(Tuning(), Patience())))
            costs.append(logged(Path(name) / str(number)))
        folder = Path(name) / "0"
        size = sum(path.stat().st_size for path in segments(folder))
        begun = time.process_time()
        assert not any(turn.difference or turn.fault for turn in replayed(folder))
        again = time.process_time() - begun
    bare, cost = (min(each, key=lambda cost: cost.seconds) for each in (plain, costs))
    more = (cost.seconds - bare.seconds) / cost.inputs
    rate = cost.inputs / cost.seconds
    return [
        Figure("rounds: inputs of an engine that is logged", rate, "1/s", bare.inputs / bare.seconds),
        Figure("rounds: what the log of an input costs", more * 1e6, "µs", at_most=40),
        Figure("rounds: the log of a workload", size / WORKLOADS, "bytes", at_most=200),
        Figure("rounds: inputs that are replayed", cost.inputs / again, "1/s"),
    ]
