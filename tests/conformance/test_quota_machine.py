"""Random changes of the quota tree, on the stores in memory and in Postgres side by side.

After every step nothing in the contract is broken, both stores hold the same, and both gave the same answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from paddleflow.problems import Problem
from pf_kit.changes import UNBORN
from pf_kit.clock import SystemClock
from pf_kit.unit import Change, Database
from pf_queue.accounts.domain import Lifetimes
from pf_queue.accounts.passwords import Passwords
from pf_queue.accounts.store import LOCK as ACCOUNTS_LOCK
from pf_queue.clusters.domain import Cluster, ClusterType, Machines, Node, Report
from pf_queue.clusters.store import TREE_LOCK
from pf_queue.facts import encode
from pf_queue.parts import Parts, Stores, put_together
from pf_queue.quota.domain import Isolation, Queue, QueueFilter, QuotaType, Standing, StateEvent
from pf_queue.resources import Resources
from support.databases import migrated
from support.stores import emptied, memory_stores, postgres_stores
from support.trees import broken, capability, physical, queue, too_much_promised, uncovered

THOROUGH = settings(max_examples=15, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck))
CLUSTERS = ("main", "side")
PICKS = st.integers(0, 99)
"""Which of the queues that exist, or, in one case of twenty, one that may not exist."""
RESOURCES = st.sampled_from(["cpu", "memory", "gpu"])
SMALL = st.dictionaries(RESOURCES, st.integers(0, 4), max_size=2).map(Resources)
LARGE = st.fixed_dictionaries(
    {"cpu": st.integers(6, 12)}, optional={"memory": st.integers(6, 12), "gpu": st.integers(6, 12)}
).map(Resources)
CAPACITY = st.fixed_dictionaries({"cpu": st.integers(5, 60)}, optional={"memory": st.integers(20, 60)}).map(Resources)
MOST = 12
FIRST = (
    queue("q0", max={"cpu": 30, "memory": 30}, min={"cpu": 12, "memory": 9}),
    queue("q1", "q0", max={"cpu": 28}, min={"cpu": 6, "memory": 4}, lend_limit={"cpu": 3}),
    queue("q2", "q0", min={"cpu": 3}),
    queue("q3", "q1", min={"cpu": 2}),
    capability("q4", max={"cpu": 5}),
    physical("q5", max={"cpu": 8, "gpu": 4}),
    queue("q6", "q3", max={"cpu": 25}),
)
"""What the changes begin with. The ceiling of q6 hangs on that of q1, not of q3 between them."""
FEW = Machines(2, Resources({"cpu": 20, "memory": 60, "gpu": 0}), {"q5": Resources({"cpu": 8, "gpu": 4})})
"""The machines at first: fewer than q1 may use."""
KINDS = st.sampled_from(
    [(QuotaType.ELASTIC, Isolation.LOGICAL)] * 6
    + [(QuotaType.CAPABILITY, Isolation.LOGICAL), (QuotaType.ELASTIC, Isolation.PHYSICAL)]
)
FIELDS = st.lists(
    st.sampled_from(["min", "max", "lend_limit", "max_per_user", "weight", "labels"]), min_size=1, max_size=2
)
PARTS = st.tuples(st.sampled_from(["min", "max"]), RESOURCES).map(lambda part: f"{part[0]}.amounts.{part[1]}")


@dataclass(frozen=True)
class Side:
    """One of the two stores, and the use cases over it."""

    database: Database
    stores: Stores
    parts: Parts

    @classmethod
    def of(cls, database: Database, stores: Stores) -> Side:
        parts = put_together(stores, passwords=Passwords(), lifetimes=Lifetimes(), clock=SystemClock())
        return cls(database, stores, parts)

    async def add_clusters(self) -> None:
        async with self.database.change(TREE_LOCK) as change:
            for name in CLUSTERS:
                await self.parts.clusters.create(change, Cluster(name=name, type=ClusterType.LOCAL))

    async def answer(self, work: Callable[[Parts, Change], Awaitable[Standing | None]]) -> object:
        """What the work returns, or how it fails: all of it that is not the time or the number of a change."""
        try:
            async with self.database.change(TREE_LOCK, ACCOUNTS_LOCK) as change:
                standing = await work(self.parts, change)
        except Problem as problem:
            return type(problem), problem.message, problem.violations, problem.metadata
        return standing and (timeless(standing.queue), standing.effective_max)

    async def standings(self) -> list[Standing]:
        return list(await self.stores.queues.page(self.database.newest, QueueFilter(), "", 1_000))

    async def cluster(self, name: str) -> Cluster:
        return await self.parts.clusters.get(self.database.newest, name)


def timeless(stored: Queue) -> Queue:
    return replace(stored, create_time=UNBORN, update_time=UNBORN, version=0)


class TreeMachine(RuleBasedStateMachine):
    """Changes as callers send them, many of them wrong."""

    runner: asyncio.Runner
    database: Database

    def __init__(self) -> None:
        super().__init__()
        self.run = self.runner.run
        self.sides = (Side.of(*memory_stores()), Side.of(self.database, postgres_stores()))
        self.revision = 0

    @initialize()
    def begin(self) -> None:
        self.run(emptied(self.sides[1].database))
        for side in self.sides:
            self.run(side.add_clusters())
        for first in FIRST:
            self.add(first)
        self.report_sums(FEW)

    @rule(
        parent=PICKS,
        kind=KINDS,
        cluster=st.sampled_from(CLUSTERS[:1] * 9 + CLUSTERS[1:]),
        low=SMALL,
        high=LARGE,
        lent=st.just(Resources()) | SMALL,
    )
    def create(
        self,
        parent: int,
        kind: tuple[QuotaType, Isolation],
        cluster: str,
        low: Resources,
        high: Resources,
        lent: Resources,
    ) -> None:
        kinds: dict[str, Any] = {"quota_type": kind[0], "isolation": kind[1]}
        draft = queue(self.free_name(), cluster=cluster, max=high, **kinds)
        if kind == (QuotaType.ELASTIC, Isolation.LOGICAL):
            draft = replace(draft, parent=self.parent(parent), min=low, lend_limit=lent)
        self.add(draft)

    @rule(name=PICKS, low=SMALL, high=LARGE, lent=SMALL, mask=FIELDS, weight=st.integers(0, 3))
    def update(self, name: int, low: Resources, high: Resources, lent: Resources, mask: list[str], weight: int) -> None:
        given = queue(self.name(name), min=low, max=high, lend_limit=lent, max_per_user=low, weight=weight)
        self.do("update", lambda parts, change: parts.queues.update(change, given, "", mask))

    @rule(name=PICKS, amounts=SMALL | LARGE, part=PARTS)
    def update_one_amount(self, name: int, amounts: Resources, part: str) -> None:
        given = queue(self.name(name), min=amounts, max=amounts)
        self.do("update", lambda parts, change: parts.queues.update(change, given, "", [part]))

    @rule(name=PICKS, parent=PICKS)
    def move(self, name: int, parent: int) -> None:
        given = queue(self.name(name), self.parent(parent))
        self.do("move", lambda parts, change: parts.queues.update(change, given, "", ["parent"]))

    @rule(name=PICKS, events=st.lists(st.sampled_from(StateEvent), min_size=1, max_size=2))
    def turn(self, name: int, events: list[StateEvent]) -> None:
        chosen = self.name(name)
        self.do("turn", lambda parts, change: parts.queues.move(change, chosen, *events))

    @precondition(lambda self: len(self.known) > 4)
    @rule(name=PICKS)
    def delete(self, name: int) -> None:
        chosen = self.name(name)

        async def work(parts: Parts, change: Change) -> None:
            await parts.queues.delete(change, chosen, "")

        self.do("delete", work)

    @rule(capacity=CAPACITY, own=LARGE, isolated=PICKS)
    def report(self, capacity: Resources, own: Resources, isolated: int) -> None:
        self.report_sums(Machines(2, Resources(dict.fromkeys(own, 0) | dict(capacity)), {self.name(isolated): own}))

    def report_sums(self, sums: Machines) -> None:
        self.revision += 1

        async def work(parts: Parts, change: Change) -> None:
            shared = Node(name="shared", cluster="main", allocatable=sums.capacity)
            own = [
                Node(name=f"own-{name}", cluster="main", allocatable=each, dedicated_queue=name)
                for name, each in sums.dedicated.items()
            ]
            await parts.clusters.report(change, Report("main", self.revision, 0, [shared, *own]))

        self.do("report", work)

    def name(self, pick: int) -> str:
        names = self.known
        return names[pick % len(names)] if names and pick < 95 else f"q{pick % MOST}"

    def parent(self, pick: int) -> str:
        """At the top in one case of four."""
        return self.name(pick // 4 * 5) if pick % 4 else ""

    def free_name(self) -> str:
        """The first that nobody has, until all are taken."""
        return next((name for name in (f"q{n}" for n in range(MOST)) if name not in self.known), "q0")

    @property
    def known(self) -> list[str]:
        return [standing.queue.name for standing in self.run(self.sides[0].standings())]

    def add(self, draft: Queue) -> None:
        self.do("create", lambda parts, change: parts.queues.create(change, draft))

    def do(self, what: str, work: Callable[[Parts, Change], Awaitable[Standing | None]]) -> None:
        before = {} if what == "report" else self.uncovered()
        ours, theirs = (self.run(side.answer(work)) for side in self.sides)
        assert ours == theirs
        event(f"{what}: {ours[0].__name__ if isinstance(ours, tuple) and isinstance(ours[0], type) else 'done'}")

        if what != "report":
            after = self.uncovered()
            assert {place: size for place, size in after.items() if size > before.get(place, 0)} == {}

    def uncovered(self) -> dict[tuple[str, str, str, str], int]:
        """What the machines do not cover, by cluster and place."""
        queues = [standing.queue for standing in self.run(self.sides[0].standings())]
        found: dict[tuple[str, str, str, str], int] = {}
        for name in CLUSTERS:
            machines = self.run(self.sides[0].cluster(name)).machines
            beyond = uncovered([each for each in queues if each.cluster == name], machines)
            found |= {(name, *place): size for place, size in beyond.items()}
        return found

    @invariant()
    def nothing_is_broken(self) -> None:
        for side in self.sides:
            queues = [standing.queue for standing in self.run(side.standings())]
            for name in CLUSTERS:
                cluster, own = self.run(side.cluster(name)), [each for each in queues if each.cluster == name]
                assert list(broken(own, cluster.machines)) == []
                assert cluster.overcommitted is too_much_promised(own, cluster.machines)

    @invariant()
    def both_hold_the_same(self) -> None:
        held = [
            [(timeless(standing.queue), standing.effective_max) for standing in self.run(side.standings())]
            for side in self.sides
        ]
        assert held[0] == held[1]


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


def test_no_sequence_of_changes_breaks_the_tree(runner: asyncio.Runner, queue_schema: str) -> None:
    opening = migrated(queue_schema, encode, schema="queue")

    class OnBothStores(TreeMachine):
        pass

    OnBothStores.runner, OnBothStores.database = runner, runner.run(opening.__aenter__())
    try:
        run_state_machine_as_test(OnBothStores, settings=THOROUGH)
    finally:
        runner.run(opening.__aexit__(None, None, None))
