"""Whoever drives many runs: what is wrong with one of them stays with it, and nothing that was wanted is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

import pytest

from paddleflow.problems import DocumentInvalid, Unavailable
from pf_kit.clock import SystemClock
from pf_kit.memory import MemoryDatabase
from pf_kit.unit import Change
from pf_pipeline.engine import driver as driving
from pf_pipeline.engine.core.happening import Asked, JobSeen, JobState
from pf_pipeline.engine.core.words import Words
from pf_pipeline.engine.driver import Driver
from pf_pipeline.engine.inbox import Inbox
from pf_pipeline.engine.keeping import Keeping
from pf_pipeline.engine.ports import End, Library, Start, Tell
from pf_pipeline.joints.events import encode
from pf_pipeline.owners import Owner
from pf_pipeline.plans.domain import Plan, PlannedStep
from pf_pipeline.runs.domain import Executor, Node, NodeFilter, Order, Run, Wanted
from pf_pipeline.runs.memory import MemoryRunStore
from pf_pipeline.runs.service import Runs
from pf_pipeline.runs.states import RUN_OVER, NodeState, RunState
from pf_pipeline.runs.store import BEGINNING, Turn, run_lock
from support.plain_words import PlainWords
from support.stored_runs import NoTraces
from support.waiting import eventually, until

STEP = PlannedStep(name="a", command="x", semaphores=("oven",))
PLAN = Plan(name="p", entry_points={"a": STEP}, semaphores={"oven": 1})
MANY = 2000
STEPS = {str(number): PlannedStep(name=str(number), command="x") for number in range(MANY)}
WIDE = Plan(name="p", parallelism=MANY, entry_points=STEPS)


class Language:
    """Fulfils `Language`: what is wrong with a document is what it says."""

    def plan(self, order: Order) -> Plan:
        if order.document == "refused":
            raise DocumentInvalid("nobody knows this language any more", violations=())
        if order.document == "faulty":
            raise KeyError(order.document)
        return WIDE if order.document == "wide" else PLAN

    def words(self, _run: Run, _plan: Plan) -> Words:
        return PlainWords()


@dataclass
class Hands:
    """Fulfils `Executor`: each step succeeds, unless its document says otherwise."""

    tell: Tell
    ended: list[str] = field(default_factory=list)

    async def start(self, steps: Sequence[Start]) -> None:
        for step in steps:
            node = step.launch.node
            if step.run.order.document == "clumsy":
                raise TypeError(step.run.id)
            if step.run.order.document != "slow":
                self.tell(step.run.id, JobSeen(node.path, node.attempt, JobState.SUCCEEDED))

    async def end(self, steps: Sequence[End]) -> None:
        self.ended += [step.run.id for step in steps]

    async def watch(self) -> None:
        await asyncio.Event().wait()


@dataclass
class Chronicle:
    """Fulfils `Chronicle`: knows which runs were over."""

    over: list[str] = field(default_factory=list)
    clumsy: bool = False

    async def record(self, _change: Change, turns: Sequence[Turn]) -> None:
        self.over += [turn.run.id for turn in turns if turn.run.life.state in RUN_OVER]
        if self.clumsy:
            raise TypeError("nobody knows what else to keep")

    def kept(self, _turns: Sequence[Turn]) -> None:
        """There is nothing."""


async def free(_change: Change) -> None:
    """Nobody else drives."""


async def nothing() -> None:
    """Nothing happens meanwhile."""


class Store(MemoryRunStore):
    """Something happens while runs are written; what the documents of some say cannot be."""

    meanwhile: Callable[[], Awaitable[None]] = staticmethod(nothing)

    async def save(self, change: Change, turns: Sequence[Turn]) -> Sequence[Run]:
        await self.meanwhile()
        if any(turn.run.order.document == "unwritable" and turn.nodes[0].attempt for turn in turns if turn.nodes):
            raise ValueError("no text")
        return await super().save(change, turns)


@dataclass
class World:
    """A driver, and what it works with."""

    database: MemoryDatabase = field(default_factory=lambda: MemoryDatabase(encode=encode, clock=SystemClock()))
    store: Store = field(default_factory=Store)
    inbox: Inbox = field(default_factory=Inbox)
    chronicle: Chronicle = field(default_factory=Chronicle)

    def __post_init__(self) -> None:
        self.hands = Hands(self.inbox.put)
        self.keeping = Keeping(self.database, self.store, Language(), SystemClock())
        self.driver = Driver(
            database=self.database,
            store=self.store,
            keeping=self.keeping,
            executors={Executor.JOBS: self.hands},
            library=cast("Library", None),
            chronicle=self.chronicle,
            lease=None,
            epoch=1,
            clock=SystemClock(),
            inbox=self.inbox,
        )

    async def run(self, document: str = "") -> str:
        runs = Runs(store=self.store, traces=NoTraces())
        async with self.database.change() as change:
            return (await runs.create(change, Owner("ada"), Order(name="p", document=document))).id

    async def stop(self, id_: str) -> None:
        runs = Runs(store=self.store, traces=NoTraces())
        async with self.database.change(run_lock(id_)) as change:
            await runs.want_stop(change, id_, "ada", force=False)

    async def drive(self, *ids: str, ended: int = 0) -> Sequence[Run]:
        """The runs, once all are over, and so many jobs were told to end, which is done a moment later."""
        task = asyncio.create_task(self.driver.run())
        try:
            async with asyncio.timeout(10):
                while await self.store.unfinished(self.database.newest) or len(self.hands.ended) < ended:
                    assert not task.done(), task.exception()
                    await asyncio.sleep(0.005)
        finally:
            task.cancel()
        runs = {run.id: run for run in await self.store.runs(self.database.newest, ids)}
        return [runs[id_] for id_ in ids]

    async def nodes(self, id_: str) -> Sequence[Node]:
        return await self.store.nodes(self.database.newest, id_, NodeFilter(), BEGINNING, 10)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(driving, "AGAIN_SECONDS", 0.01)
    monkeypatch.setattr(driving, "TICK_SECONDS", 0.01)
    return World()


@pytest.mark.parametrize("document", ["refused", "faulty", "clumsy", "unwritable"])
async def test_a_run_that_cannot_be_driven_fails_and_holds_up_nobody(world: World, document: str) -> None:
    ids = [await world.run(each) for each in ("", document, "")]
    first, broken, last = await world.drive(*ids)
    assert {first.life.state, last.life.state} == {RunState.SUCCEEDED}
    assert (broken.life.state, broken.life.steps.waiting, broken.life.steps.running) == (RunState.FAILED, 0, 0)
    assert broken.life.message.startswith("a fault of the service: ")
    assert not await world.store.wishes(world.database.newest, 0, 10)
    assert all(node.state is not NodeState.PENDING for node in await world.nodes(broken.id))


@pytest.mark.parametrize("document", ["refused", "faulty", "clumsy", "unwritable"])
async def test_what_is_kept_beside_is_kept_of_a_run_that_is_given_up(world: World, document: str) -> None:
    id_ = await world.run(document)
    await world.drive(id_)
    assert world.chronicle.over == [id_]


async def test_a_run_is_given_up_also_if_nothing_can_be_kept_beside(world: World) -> None:
    world.chronicle.clumsy = True
    (run,) = await world.drive(await world.run())
    assert (run.life.state, run.life.message[:23]) == (RunState.FAILED, "a fault of the service:")


async def test_a_run_that_is_given_up_leaves_no_job_and_no_semaphore(world: World) -> None:
    id_ = await world.run("clumsy")
    await world.drive(id_, ended=1)
    assert world.hands.ended == [id_]
    assert not +world.keeping.semaphores.held


async def test_what_is_wanted_during_a_commit_is_kept_until_it_comes_into_effect(world: World) -> None:
    id_ = await world.run("slow")
    await world.stop(id_)
    begin, stop = await world.store.wishes(world.database.newest, 0, 10)
    world.store.meanwhile = world.driver._read_wishes  # noqa: SLF001  # as another task would
    begun = [Asked(Wanted.BEGIN, number=begin.number)]
    for _, work in await world.driver._turn({id_: begun}):  # noqa: SLF001
        work.close()
    assert await world.store.wishes(world.database.newest, 0, 10) == [stop]


async def test_a_stop_whose_commit_fails_is_tried_again(world: World) -> None:
    id_ = await world.run("slow")
    tries = 0

    async def fails_once() -> None:
        nonlocal tries
        tries += 1
        if tries == 2:
            raise Unavailable("not now")

    world.store.meanwhile = fails_once
    driving_ = asyncio.create_task(world.drive(id_))
    await eventually(lambda: world.nodes(id_))
    await world.stop(id_)
    await until(lambda: bool(world.hands.ended))
    world.inbox.put(id_, JobSeen("a", 1, JobState.TERMINATED))
    (run,) = await driving_
    assert run.life.state is RunState.TERMINATED


async def test_others_have_their_turns_while_a_wide_run_begins_and_ends(world: World) -> None:
    id_ = await world.run("wide")
    state = await world.keeping.state(id_)
    assert state is not None
    for wanted, least in ((Wanted.BEGIN, 3 * MANY), (Wanted.FORCE, MANY)):
        others = Others()
        counting = asyncio.create_task(others.go_on())
        further = await world.keeping.take_further(state, [Asked(wanted)], 10**6)
        counting.cancel()
        assert (len(further.turn.nodes), further.is_more) == (MANY, False)
        assert others.turns >= least // 100


@dataclass
class Others:
    """What else the process does."""

    turns: int = 0

    async def go_on(self) -> None:
        while True:
            self.turns += 1
            await asyncio.sleep(0)
