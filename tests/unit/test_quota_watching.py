"""What a user who watches queues is told, whatever happens to queues and grants, and wherever the watch breaks off."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paddleflow.common.v1 import event_pb2
from paddleflow.problems import Problem, ResumeTokenExpired
from paddleflow.queue.v1 import queue_pb2 as pb
from pf_kit.changes import UNBORN, ChangeKind
from pf_kit.clock import SystemClock
from pf_kit.events import BEGINNING, Event
from pf_kit.resume import Place, resume_token
from pf_kit.unit import View
from pf_queue.accounts.domain import GrantKey, Lifetimes, ResourceKind, User
from pf_queue.accounts.passwords import Passwords
from pf_queue.accounts.store import LOCK as ACCOUNTS_LOCK
from pf_queue.clusters.domain import Cluster, ClusterType
from pf_queue.clusters.store import TREE_LOCK
from pf_queue.parts import put_together
from pf_queue.quota.convert import queue_message
from pf_queue.quota.domain import QueueChanged, QueueFilter, Standing
from pf_queue.quota.ports import Granted
from pf_queue.quota.resumption import MOST
from pf_queue.quota.watching import GrantedQueues
from pf_queue.resources import Resources
from support.stores import memory_stores
from support.trees import queue

USER, OTHER = "alice", "bobby"
NAMES = ["qa", "qb"]
CLUSTERS = ["c1", "c2"]
ACTS = st.sampled_from(["create", "create", "update", "delete", "grant", "grant", "ungrant", "grant another"])
STEPS = st.lists(st.tuples(ACTS, st.sampled_from(NAMES), st.sampled_from(CLUSTERS)), min_size=15, max_size=40)


class World:
    """Queues of two clusters, and grants on them."""

    def __init__(self) -> None:
        self.database, self.stores = memory_stores()
        self.parts = put_together(self.stores, passwords=Passwords(), lifetimes=Lifetimes(), clock=SystemClock())

    async def begin(self) -> None:
        async with self.database.change(TREE_LOCK, ACCOUNTS_LOCK) as change:
            for name in CLUSTERS:
                await self.parts.clusters.create(change, Cluster(name=name, type=ClusterType.LOCAL))
            for name in (USER, OTHER):
                await self.stores.accounts.add_user(change, User(name, "", 1, UNBORN, UNBORN))

    async def act(self, act: str, name: str, cluster: str) -> None:
        """One change; nothing if it is not possible now."""
        try:
            async with self.database.change(TREE_LOCK, ACCOUNTS_LOCK) as change:
                match act:
                    case "create":
                        await self.parts.queues.create(change, queue(name, cluster=cluster))
                    case "update":
                        weight = len(await self.events()) + 1
                        await self.parts.queues.update(change, queue(name, weight=weight), "", ["weight"])
                    case "delete":
                        await self.parts.queues.delete(change, name, "")
                    case "grant":
                        await self.parts.grants.create(change, GrantKey(USER, ResourceKind.QUEUE, name))
                    case "ungrant":
                        await self.parts.grants.delete(change, GrantKey(USER, ResourceKind.QUEUE, name))
                    case "grant another":
                        await self.parts.grants.create(change, GrantKey(OTHER, ResourceKind.QUEUE, name))
        except Problem:
            return

    async def events(self) -> Sequence[Event]:
        return await self.database.log.events_after(BEGINNING, 10_000)

    async def visible(self, cluster: str) -> dict[str, pb.Queue]:
        names = await self.parts.grants.granted(self.database.newest, USER, ResourceKind.QUEUE)
        found = await self.stores.queues.page(self.database.newest, QueueFilter(names=names, cluster=cluster), "", 100)
        return {standing.queue.name: queue_message(standing) for standing in found}


@dataclass
class Watcher:
    """Keeps a picture of the queues from what it is told, and insists on a story that makes sense."""

    world: World
    cluster: str
    picture: dict[str, pb.Queue] = field(default_factory=dict)
    grants: Granted | None = None
    """If not those of the world."""

    def __post_init__(self) -> None:
        world = self.world
        self.teller = GrantedQueues(
            database=world.database,
            store=world.stores.queues,
            grants=self.grants or world.parts.grants,
            user=USER,
            cluster=self.cluster,
        )

    async def begin(self) -> None:
        async with self.world.database.snapshot() as snapshot:
            self.take(await self.teller.existing(snapshot))

    async def resume(self, place: Place) -> None:
        await self.teller.resume(resume_token(self.world.database.log.epoch, place))

    async def hear(self, events: Iterable[Event]) -> None:
        for each in events:
            told = await self.teller.changes(each)
            shown = {event.queue.name for event in told if event.kind == event_pb2.CHANGE_KIND_CREATED}
            assert shown <= set(await self.world.visible(""))
            self.take(told)

    def take(self, told: Iterable[pb.QueueEvent]) -> None:
        for each in told:
            name = each.queue.name
            assert self.cluster in ("", each.queue.cluster)
            match each.kind:
                case event_pb2.CHANGE_KIND_CREATED | event_pb2.CHANGE_KIND_EXISTING:
                    assert name not in self.picture
                    self.picture[name] = each.queue
                case event_pb2.CHANGE_KIND_UPDATED:
                    assert int(each.queue.etag, 16) > int(self.picture[name].etag, 16)
                    self.picture[name] = each.queue
                case event_pb2.CHANGE_KIND_DELETED:
                    assert each.queue.cluster == self.picture.pop(name).cluster


async def watched_throughout(steps: list[tuple[str, str, str]], begin: int, cluster: str) -> None:
    world = World()
    await world.begin()
    for step in steps[:begin]:
        await world.act(*step)
    watcher, heard = Watcher(world, cluster), len(await world.events())
    await watcher.begin()
    for step in steps[begin:]:
        await world.act(*step)
        events = await world.events()
        await watcher.hear(events[heard:])
        heard = len(events)
        assert watcher.picture == await world.visible(cluster)


async def watched_with_a_break(steps: list[tuple[str, str, str]], begin: int, cluster: str) -> None:
    world, first = World(), None
    await world.begin()
    for step in steps[:begin]:
        await world.act(*step)
    first = Watcher(world, cluster)
    await first.begin()
    place, heard = Place(await world.database.log.head(), None), len(await world.events())
    for step in steps[begin:]:
        await world.act(*step)
    again = Watcher(world, cluster, first.picture)
    await again.resume(place)
    await again.hear((await world.events())[heard:])
    assert again.picture == await world.visible(cluster)


@settings(max_examples=60)
@given(STEPS, st.integers(0, 10), st.sampled_from(["", "c1"]))
def test_the_picture_is_right_after_every_change(steps: list[tuple[str, str, str]], begin: int, cluster: str) -> None:
    asyncio.run(watched_throughout(steps, begin, cluster))


@settings(max_examples=120)
@given(STEPS, st.integers(0, 15), st.sampled_from(["", "c1"]))
def test_the_picture_is_right_after_a_break(steps: list[tuple[str, str, str]], begin: int, cluster: str) -> None:
    asyncio.run(watched_with_a_break(steps, begin, cluster))


class LateDeletion:
    """Grants as they are; as soon as a resumed watch has looked at them, a queue is deleted."""

    def __init__(self, world: World, name: str) -> None:
        self._world = world
        self._names = [name]

    async def granted(self, view: View, user: str, kind: ResourceKind) -> frozenset[str]:
        found = await self._world.parts.grants.granted(view, user, kind)
        while self._names:
            await self._world.act("delete", self._names.pop(), "c1")
        return found


@pytest.mark.parametrize("cluster", ["", "c1"])
@pytest.mark.parametrize("ungrant", [False, True])
async def test_a_queue_deleted_while_the_watch_resumes_is_told_as_gone(cluster: str, ungrant: bool) -> None:
    world = World()
    await world.begin()
    for act in ("create", "grant"):
        await world.act(act, "qa", "c1")
    watcher = Watcher(world, cluster)
    await watcher.begin()
    place, heard = Place(await world.database.log.head(), None), len(await world.events())
    if ungrant:
        await world.act("ungrant", "qa", "c1")
    again = Watcher(world, cluster, watcher.picture, grants=LateDeletion(world, "qa"))
    await again.resume(place)
    await again.hear((await world.events())[heard:])
    assert again.picture == {}


async def test_after_too_many_events_a_watch_begins_anew() -> None:
    world = World()
    await world.begin()
    place = Place(await world.database.log.head(), None)
    for _ in range(2):
        async with world.database.change(TREE_LOCK) as change:
            for _ in range(MOST // 2 + 1):
                change.emit(QueueChanged(ChangeKind.UPDATED, Standing(queue("qa"), Resources()), 1))
    with pytest.raises(ResumeTokenExpired, match="start again without a token"):
        await Watcher(world, "").resume(place)
