"""What the leader tells while a commit is in flight."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from paddleflow.problems import Aborted, NoLeader, Unavailable
from pf_kit.clock import SystemClock
from pf_kit.leases import Lease
from pf_kit.memory import MemoryDatabase
from pf_kit.unit import AuditEntry, Change, View
from pf_queue.accounts.service import Grants
from pf_queue.admission.core.pool import Tuning
from pf_queue.admission.domain import Key, Outcome, Patience, Record, RoleRequest, Spec, WorkloadState
from pf_queue.admission.engine import Engine
from pf_queue.admission.engines import Engines, PlainEngines
from pf_queue.admission.layout import Layout
from pf_queue.admission.layouts import StoredLayouts
from pf_queue.admission.leading import Leading
from pf_queue.admission.memory import MemoryWorkloadStore
from pf_queue.admission.planting import Arrangement
from pf_queue.admission.service import Workloads
from pf_queue.clusters.domain import Cluster, ClusterType
from pf_queue.clusters.store import TREE_LOCK
from pf_queue.parts import Stores
from pf_queue.quota.register import QueueRegister
from pf_queue.quota.visibility import Visibility
from pf_queue.resources import Resources
from support.stores import memory_stores
from support.trees import CLUSTER, queue
from support.waiting import eventually

SPEC = Spec(
    key=Key("job", 1),
    queue="one",
    user="ann",
    roles=(RoleRequest("worker", 1, 1, 1, Resources({"cpu": 1000})),),
)


ENTRY = AuditEntry(
    actor="user/root", on_behalf_of="", method="SubmitWorkloads", subject=SPEC.key.job, peer="", request_id=""
)


@dataclass
class Gate:
    """A fence at which commits wait as long as it is shut, and which may find that the lease is lost."""

    open: asyncio.Event = field(default_factory=asyncio.Event)
    lost: bool = False

    async def fence(self, change: Change, lease: Lease) -> None:
        await self.open.wait()
        if self.lost:
            raise Aborted("somebody else leads")


@dataclass
class SlowLook(MemoryWorkloadStore):
    """Looks at those that are over, and tells of them when somebody lets it."""

    looked: asyncio.Event = field(default_factory=asyncio.Event)
    told: asyncio.Event = field(default_factory=asyncio.Event)

    async def over(self, view: View, ids: Sequence[str]) -> Sequence[Record]:
        found = await super().over(view, ids)
        self.looked.set()
        await self.told.wait()
        return found


@dataclass(frozen=True)
class Pause:
    """Keeps whoever comes by until somebody lets it go."""

    came: threading.Event = field(default_factory=threading.Event)
    let: threading.Event = field(default_factory=threading.Event)

    def wait(self) -> None:
        self.came.set()
        assert self.let.wait(10)

    async def reached(self) -> bool:
        return self.came.is_set()


class SlowEngine(Engine):
    """Takes long to make its pools anew, as with many who wait."""

    def __init__(self, pause: Pause) -> None:
        super().__init__(Tuning(), Patience())
        self._pause = pause

    def arranged(self, layout: Layout, now: int) -> Arrangement:
        if self.pools:
            self._pause.wait()
        return super().arranged(layout, now)


@dataclass(frozen=True)
class SlowEngines(PlainEngines):
    pause: Pause

    def new(self) -> Engine:
        return SlowEngine(self.pause)


@asynccontextmanager
async def leading(gate: Gate) -> AsyncIterator[Leading]:
    async with site(gate) as (made, _):
        yield made


@asynccontextmanager
async def site(
    gate: Gate, engines: Engines | None = None
) -> AsyncIterator[tuple[Leading, tuple[MemoryDatabase, Stores]]]:
    database, stores = memory_stores()
    async with database.change(TREE_LOCK) as change:
        now = change.time
        cluster = Cluster(name=CLUSTER, type=ClusterType.LOCAL, create_time=now, update_time=now)
        await stores.clusters.add(change, cluster)
        await stores.queues.add(change, queue("one", max={"cpu": 8000}))
    gate.open.set()
    made = Leading(
        database=database,
        store=stores.workloads,
        layouts=StoredLayouts(clusters=stores.clusters, queues=stores.queues),
        fence=gate.fence,
        clock=SystemClock(),
        engines=engines or PlainEngines(Tuning(), Patience()),
        stored=lambda _: None,
        closed=lambda _: asyncio.sleep(0),
    )
    lease = Lease("admission", "test", "", 1, now + timedelta(hours=1))
    running = asyncio.create_task(made.run(lease))
    await eventually(lambda: _led(made))
    try:
        yield made, (database, stores)
    finally:
        running.cancel()
        await asyncio.wait([running])


async def _led(made: Leading) -> bool:
    return made.engine is not None


def find(engine: Engine, _: int) -> Record | None:
    return engine.find(SPEC.key)


def submit(made: Leading) -> asyncio.Task[Record]:
    return asyncio.create_task(made.do(lambda engine, now: engine.submit(SPEC, now), ENTRY))


async def decided(made: Leading) -> bool:
    return made.engine is not None and made.engine.find(SPEC.key) is not None


async def test_nothing_is_told_before_it_is_stored() -> None:
    gate = Gate()
    async with leading(gate) as made:
        assert await made.ask(find) is None
        gate.open.clear()
        submitted = submit(made)
        await eventually(lambda: decided(made))
        asked, gone = (asyncio.create_task(made.ask(find)) for _ in range(2))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait([gone])
        assert not asked.done()
        gate.open.set()
        assert (await asked, (await submitted).state) == (await made.ask(find), WorkloadState.PENDING)


async def test_what_may_be_lost_is_not_told() -> None:
    gate = Gate()
    async with leading(gate) as made:
        gate.open.clear()
        submitted = submit(made)
        await eventually(lambda: decided(made))
        asked = asyncio.create_task(made.ask(find))
        await asyncio.sleep(0)
        gate.lost = True
        gate.open.set()
        for waits in (asked, submitted):
            with pytest.raises(Unavailable):
                await waits
        for late in (made.ask(find), submit(made)):
            with pytest.raises(NoLeader):
                await late


async def test_what_is_over_is_not_taken_again_by_a_leader_that_begins_anew() -> None:
    gate, slow = Gate(), SlowLook()
    async with site(gate) as (made, (database, stores)):
        await submit(made)
        layouts = StoredLayouts(clusters=stores.clusters, queues=stores.queues)
        visibility = Visibility(grants=Grants(store=stores.accounts, resources=QueueRegister(store=stores.queues)))
        workloads = Workloads(
            database=database, store=slow, leading=made, visibility=visibility, layouts=layouts, tuning=Tuning()
        )
        repeated = asyncio.create_task(workloads.submit([SPEC], ENTRY))
        await slow.looked.wait()
        await made.do(lambda engine, now: engine.release(SPEC.key, "", Outcome.CANCELLED, now), ENTRY)
        before = made.engine
        gate.lost = True
        with pytest.raises(Unavailable):
            await made.do(lambda engine, now: engine.running(SPEC.key, "", now), ENTRY)
        gate.lost = False
        await eventually(lambda: _leads_anew(made, before))
        slow.told.set()
        with pytest.raises(Unavailable):
            await repeated
        assert not await stores.workloads.unfinished(database.newest)


async def test_questions_are_answered_and_nothing_is_changed_while_pools_are_made_anew() -> None:
    gate, pause = Gate(), Pause()
    async with site(gate, SlowEngines(Tuning(), Patience(), pause)) as (made, (database, stores)):
        async with database.change(TREE_LOCK) as change:
            await stores.queues.add(change, queue("two", max={"cpu": 8000}))
        refreshed = asyncio.create_task(made.refresh())
        await eventually(pause.reached)
        submitted = submit(made)
        assert await made.ask(find) is None
        assert not await made.ask(lambda engine, _: "two" in engine.layout.pool_of)
        pause.let.set()
        await refreshed
        assert await made.ask(lambda engine, _: "two" in engine.layout.pool_of)
        assert (await submitted).state is WorkloadState.PENDING


async def test_a_change_of_the_tree_is_taken_over_also_if_who_asked_for_it_has_gone() -> None:
    gate, pause = Gate(), Pause()
    async with site(gate, SlowEngines(Tuning(), Patience(), pause)) as (made, (database, stores)):
        async with database.change(TREE_LOCK) as change:
            await stores.queues.add(change, queue("two", max={"cpu": 8000}))
        gone = asyncio.create_task(made.refresh())
        await eventually(pause.reached)
        gone.cancel()
        await asyncio.wait([gone])
        submitted, again = submit(made), asyncio.create_task(made.refresh())
        await made.ask(find)
        assert not any(waits.done() for waits in (submitted, again))
        pause.let.set()
        await asyncio.gather(submitted, again)
        assert await made.ask(lambda engine, _: "two" in engine.layout.pool_of)


async def _leads_anew(made: Leading, before: Engine | None) -> bool:
    return made.engine not in (None, before)
