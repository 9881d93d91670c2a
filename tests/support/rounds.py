"""Random lives of an engine that is logged, and logs of rounds in files."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from paddleflow.problems import Problem
from pf_queue.admission.core.explain import explain
from pf_queue.admission.core.places import Admission
from pf_queue.admission.core.pool import SECOND, Tuning
from pf_queue.admission.domain import Key, Outcome, Patience, Record, RoleRequest, Spec, WorkloadState
from pf_queue.admission.journal.encode import opening_lines, turn_line
from pf_queue.admission.journal.inputs import Opening, Turn
from pf_queue.admission.journal.recorded import Log, RecordedEngine
from pf_queue.admission.journal.replay import Replayed, replay
from pf_queue.admission.journal.segments import Segment, segments
from pf_queue.admission.layout import Layout, PoolId, PoolLayout
from pf_queue.quota.domain import QueueState
from pf_queue.resources import Resources
from support.admission import Ground, queue_rules
from support.admission_trees import random_ground

SOFTWARE = "of the tests"
PATIENCE = Patience(backoff=SECOND, requeues=1)
STATES = {QueueState.OPEN: Admission.OPEN, QueueState.HELD: Admission.HELD, QueueState.DRAINING: Admission.DRAINING}


@dataclass
class FileLog:
    """Fulfils `Log`: writes at once."""

    folder: Path
    segment: Segment | None = None

    def begin(self, opening: Opening) -> None:
        self.close()
        self.segment = Segment.begun(self.folder)
        for line in opening_lines(opening):
            self.segment.add(line)

    def put(self, turn: Turn) -> None:
        assert self.segment is not None
        self.segment.add(turn_line(turn))

    def close(self) -> None:
        if self.segment is not None:
            self.segment.flush()
            self.segment.close()
            self.segment = None


@contextmanager
def file_log(folder: Path) -> Iterator[FileLog]:
    log = FileLog(folder)
    try:
        yield log
    finally:
        log.close()


def pool_layout(ground: Ground, **changed: Any) -> PoolLayout:
    rules = [queue_rules(name, fields) for name, fields in ground.queues.items()]
    for name, admission in changed.pop("admissions", {}).items():
        rules = [replace(each, admission=admission) if each.name == name else each for each in rules]
    capacity = Resources.total(Resources(machine) for machine in ground.machines)
    sizes = tuple(Resources(machine) for machine in ground.machines)
    return replace(PoolLayout(tuple(rules), capacity, sizes, reported=True, online=True), **changed)


def layout_of(pools: Mapping[str, PoolLayout], states: Mapping[str, QueueState] | None = None) -> Layout:
    """Clusters by name."""
    pool_of = {rules.name: PoolId(name) for name, pool in pools.items() for rules in pool.queues}
    told = {name: (states or {}).get(name, QueueState.OPEN) for name in pool_of}
    return Layout({PoolId(name): pool for name, pool in pools.items()}, pool_of, told)


def replayed(folder: Path) -> Sequence[Replayed]:
    """The turns of all segments."""
    return [step for path in segments(folder) for step in replay(path) if isinstance(step, Replayed)]


@dataclass
class Life:
    """What happens to an engine, by chance; much of it is refused."""

    chance: random.Random
    log: Log

    def __post_init__(self) -> None:
        self.now = 1_000 * SECOND
        self.names = 0
        self.ground = random_ground(self.chance)
        other = random_ground(self.chance, most_queues=3)
        self.other = replace(other, queues={f"z{name}": fields for name, fields in other.queues.items()})
        self.keys: list[Key] = [Key("nobody", 1)]
        self.engine = self._loaded([])

    def _loaded(self, records: Sequence[Record]) -> RecordedEngine:
        engine = RecordedEngine(Tuning(patience=5 * SECOND), PATIENCE, SOFTWARE, self.log)
        engine.arrange(layout_of({"c": pool_layout(self.ground), "d": pool_layout(self.other)}), self.now)
        engine.restore(records, self.now)
        return engine

    def live(self, steps: int) -> None:
        things: Sequence[Callable[[], None]] = (
            self.submit,
            self.submit,
            self.submit,
            self.release,
            self.release,
            self.obey,
            self.resize,
            self.update,
            self.running,
            self.resume,
            self.arrange,
            self.ask,
            self.turn,
            self.turn,
        )
        for _ in range(steps):
            with suppress(Problem):
                self.chance.choice(things)()
        self.turn()

    def submit(self) -> None:
        if self.chance.random() < 0.2:
            key = self.chance.choice(self.keys)
        else:
            self.names += 1
            key = Key(f"w{self.names}", 1)
            self.keys.append(key)
        least = self.chance.randint(1, 3)
        each = {"cpu": self.chance.randint(0, 3), "gpu": self.chance.randint(0, 2)}
        role = RoleRequest("worker", least, least + self.chance.choice([0, 0, 2]), 1, Resources(each))
        self.engine.submit(
            Spec(
                key=key,
                queue=self.chance.choice([*sorted(self.ground.queues), *sorted(self.other.queues), "unknown"]),
                user=self.chance.choice(["ann", "bén"]),
                priority=self.chance.choice([0, 0, 5]),
                roles=(role,),
                grace=SECOND,
                min_run=self.chance.choice([0, 0, 5 * SECOND]),
            ),
            self.now,
        )

    def submit_one(self) -> None:
        """Submits until one is taken."""
        before = len(self.engine.records)
        while len(self.engine.records) == before:
            with suppress(Problem):
                self.submit()

    def release(self) -> None:
        holding = [record.spec.key for record in self.engine.records.values() if record.holds]
        key = self.chance.choice(holding[:2] or self.keys)
        record = self.engine.find(replace(key, attempt=self.chance.choice([0, 1])))
        grant = record.grant if record and self.chance.random() < 0.8 else "another"
        self.engine.release(record.spec.key if record else key, grant, self.chance.choice(list(Outcome)), self.now)

    def obey(self) -> None:
        """All who were told to leave do."""
        for record in list(self.engine.records.values()):
            if record.state is WorkloadState.EVICTING:
                self.engine.release(record.spec.key, record.grant, Outcome.EVICTED, self.now)

    def resize(self) -> None:
        record = self.chance.choice([*self.engine.records.values()] or [None])
        if record is not None:
            left = self.chance.randint(0, 2)
            self.engine.resize(record.spec.key, record.grant, {"worker": left})

    def update(self) -> None:
        key, priority = self.chance.choice(self.keys), self.chance.choice([-5, 0, 5])
        self.engine.update(key, priority, self.chance.choice([0, 1, 2, 3]), self.now)

    def running(self) -> None:
        for record in list(self.engine.records.values())[:3]:
            self.engine.running(record.spec.key, record.grant, self.now)

    def resume(self) -> None:
        self.engine.resume(self.chance.choice(self.keys), self.now)

    def arrange(self) -> None:
        """Other machines, or queues that are held or drained; sometimes a queue goes that may have workloads, or queues
        change places with others.
        """
        machines = [{name: max(0, n + self.chance.randint(-2, 2)) for name, n in self.ground.machines[0].items()}]
        ground = replace(self.ground, machines=[machines[0]] * self.chance.randint(1, 2))
        leaf = sorted(ground.queues)[-1]
        if self.chance.random() < 0.1:
            ground = replace(ground, queues={name: rules for name, rules in ground.queues.items() if name != leaf})
        states = {name: self.chance.choice(list(STATES)) for name in ground.queues if self.chance.random() < 0.2}
        pool = pool_layout(
            ground,
            admissions={name: STATES[state] for name, state in states.items()},
            online=self.chance.random() < 0.9,
            reported=self.chance.random() < 0.9,
        )
        clusters = self.chance.choice(["cd", "cd", "cd", "dc", "ce"])
        pools = dict(zip(clusters, (pool, pool_layout(self.other)), strict=True))
        self.engine.arrange(layout_of(pools, states), self.now)

    def ask(self) -> None:
        """Questions change nothing."""
        self.engine.admissions.lately(self.now)
        for pool in self.engine.pools.values():
            for name in pool.waiting:
                explain(pool, name, self.now)

    def turn(self) -> None:
        for _ in range(self.chance.randint(0, 5)):
            if not self.engine.round(self.now):
                break
        self.engine.effects()
        self.engine.stored()
        self.now += self.chance.choice([1, SECOND // 10, SECOND, 7 * SECOND])

    def reload(self) -> None:
        """Another leader begins where this one ended."""
        self.engine.abandoned()
        self.engine = self._loaded(list(self.engine.records.values()))
