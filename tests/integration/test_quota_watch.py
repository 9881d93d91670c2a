"""Watches of queues, clusters and flavours over a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from google.protobuf.message import Message

from paddleflow.auth.v1 import auth_pb2
from paddleflow.common.v1 import event_pb2
from paddleflow.problems import InvalidArgument, ResumeTokenInvalid, TokenRevoked
from paddleflow.queue.v1 import cluster_pb2, queue_pb2
from support.callers import Caller
from support.queue_site import QueueSite, node

EXISTING, CREATED, UPDATED, DELETED = (
    event_pb2.CHANGE_KIND_EXISTING,
    event_pb2.CHANGE_KIND_CREATED,
    event_pb2.CHANGE_KIND_UPDATED,
    event_pb2.CHANGE_KIND_DELETED,
)


class Watcher:
    """Reads a watch, and keeps the last token."""

    def __init__(self, stream: AsyncGenerator[Any, None]) -> None:
        self._stream = stream
        self.token = ""

    async def existing(self) -> list[Any]:
        """All that there is as the watch begins."""
        told: list[Any] = []
        async for message in self._stream:
            told += message.events
            if message.bookmark:
                self.token = message.resume_token
                return told
        raise AssertionError("the watch ended")

    async def take(self, count: int) -> list[Any]:
        """So many changes, and not more than that in the same messages."""
        told: list[Any] = []
        while len(told) < count:
            message = await anext(self._stream)
            told += message.events
            self.token = message.resume_token
        assert len(told) == count
        return told

    async def some(self) -> list[Any]:
        """The changes of the next message, however many it holds."""
        message = await anext(self._stream)
        self.token = message.resume_token
        return list(message.events)

    async def bookmark(self) -> None:
        """Waits until the server says that nothing is outstanding; nothing must come before."""
        message = await anext(self._stream)
        assert message.bookmark
        assert list(message.events) == []
        self.token = message.resume_token


@asynccontextmanager
async def watching(caller: Caller, request: Message) -> AsyncIterator[Watcher]:
    stream = caller.watch(request)
    try:
        yield Watcher(stream)
    finally:
        await stream.aclose()


def of(site: QueueSite, token: str = "") -> queue_pb2.WatchQueuesRequest:
    return queue_pb2.WatchQueuesRequest(cluster=site.cluster, resume_token=token)


def kinds(told: list[Any]) -> list[tuple[int, str]]:
    return [(event.kind, event.queue.name) for event in told]


async def test_what_exists_is_told_and_then_every_change(site: QueueSite) -> None:
    a = await site.create("a", max={"cpu": 5})
    async with watching(site.root, of(site)) as watcher:
        assert [(event.kind, event.queue) for event in await watcher.existing()] == [(EXISTING, a)]
        b = await site.create("b", "a")
        changed = await site.update("b", weight=5)
        held = (await site.root(queue_pb2.HoldQueueRequest(name=b.name))).queue
        await site.root(queue_pb2.OpenQueueRequest(name=a.name))
        await site.root(queue_pb2.DeleteQueueRequest(name=b.name))
        told = [(event.kind, event.queue) for event in await watcher.take(4)]
    assert told == [(CREATED, b), (UPDATED, changed), (UPDATED, held), (DELETED, held)]


async def test_a_watch_goes_on_where_it_broke_off(site: QueueSite) -> None:
    async with watching(site.root, of(site)) as watcher:
        assert await watcher.existing() == []
        await site.create("a")
        await watcher.take(1)
        token = watcher.token
    for word in ("b", "c"):
        await site.create(word)
    async with watching(site.root, of(site, token)) as watcher:
        assert kinds(await watcher.take(2)) == [(CREATED, site.name("b")), (CREATED, site.name("c"))]
        await site.create("d")
        assert kinds(await watcher.take(1)) == [(CREATED, site.name("d"))]


async def test_a_user_is_told_what_is_granted_as_it_comes_and_goes(site: QueueSite) -> None:
    user, caller = await site.add_user()
    mine, later = await site.create("mine"), await site.create("later")
    await site.grant(user, "mine")
    async with watching(caller, of(site)) as watcher:
        assert [(event.kind, event.queue) for event in await watcher.existing()] == [(EXISTING, mine)]
        await site.update("later", weight=5)
        await site.grant(user, "later")
        (given,) = await watcher.take(1)
        assert (given.kind, given.queue.name, given.queue.weight) == (CREATED, later.name, 5)
        changed = await site.update("later", weight=6)
        assert [(event.kind, event.queue) for event in await watcher.take(1)] == [(UPDATED, changed)]
        await site.ungrant(user, "mine")
        await site.update("mine", weight=9)
        (gone,) = await watcher.take(1)
        assert (gone.kind, gone.queue) == (DELETED, mine)
        await site.root(queue_pb2.DeleteQueueRequest(name=later.name))
        assert kinds(await watcher.take(1)) == [(DELETED, later.name)]
        await watcher.bookmark()


async def test_a_user_that_comes_back_learns_what_was_given_and_taken_meanwhile(site: QueueSite) -> None:
    user, caller = await site.add_user()
    for word in ("kept", "taken", "given"):
        await site.create(word)
    for word in ("kept", "taken"):
        await site.grant(user, word)
    async with watching(caller, of(site)) as watcher:
        assert len(await watcher.existing()) == 2
        token = watcher.token
    await site.update("given", weight=1)
    await site.update("taken", weight=2)
    await site.ungrant(user, "taken")
    await site.update("taken", weight=3)
    await site.grant(user, "given")
    await site.update("kept", weight=4)
    async with watching(caller, of(site, token)) as watcher:
        told = await watcher.take(4)
    assert kinds(told) == [
        (UPDATED, site.name("taken")),
        (DELETED, site.name("taken")),
        (CREATED, site.name("given")),
        (UPDATED, site.name("kept")),
    ]
    assert [event.queue.weight for event in told] == [2, 2, 1, 4]


async def test_only_queues_of_the_cluster_are_told(site: QueueSite) -> None:
    async with watching(site.root, of(site)) as watcher:
        await watcher.existing()
        await site.create("elsewhere", cluster="default-cluster")
        await site.create("here")
        assert kinds(await watcher.take(1)) == [(CREATED, site.name("here"))]


async def test_many_queues_come_in_several_messages(site: QueueSite) -> None:
    for start in range(0, 250, 25):
        await asyncio.gather(*(site.create(f"q{number}") for number in range(start, start + 25)))
    async with watching(site.root, of(site)) as watcher:
        told = await watcher.existing()
    names = [event.queue.name for event in told]
    assert len(names) == 250
    assert names == sorted(names)


async def test_a_token_that_is_none_is_refused(site: QueueSite) -> None:
    for caller in (site.root, (await site.add_user())[1]):
        async with watching(caller, of(site, "nonsense")) as watcher:
            with pytest.raises(ResumeTokenInvalid):
                await watcher.existing()
    async with watching(site.root, queue_pb2.WatchQueuesRequest(cluster="\0")) as watcher:
        with pytest.raises(InvalidArgument):
            await watcher.existing()


async def test_a_watch_ends_with_the_token_of_its_caller(site: QueueSite) -> None:
    user, caller = await site.add_user()
    async with watching(caller, of(site)) as watcher:
        await watcher.existing()
        await site.root(auth_pb2.SetPasswordRequest(name=user, new_password="another1"))
        with pytest.raises(TokenRevoked):
            await watcher.take(1)


async def test_clusters_are_watched(site: QueueSite) -> None:
    async with watching(site.root, cluster_pb2.WatchClustersRequest()) as watcher:
        existing = {event.cluster.name: event for event in await watcher.existing()}
        assert existing[site.cluster].kind == EXISTING
        reported = await site.report(1, node("n1", cpu=5))
        await site.root(cluster_pb2.DeleteClusterRequest(name=site.cluster))
        told: list[Any] = []
        while len(told) < 2:
            told += [event for event in await watcher.some() if event.cluster.name == site.cluster]
    assert [(event.kind, event.cluster) for event in told] == [(UPDATED, reported), (DELETED, reported)]


async def test_flavours_are_watched(site: QueueSite) -> None:
    async with watching(site.root, cluster_pb2.WatchFlavoursRequest()) as watcher:
        assert {"flavour1", "flavour2", "flavour3"} <= {event.flavour.name for event in await watcher.existing()}
        flavour = cluster_pb2.Flavour(name=site.name("f"))
        flavour.resources.amounts.update(cpu=1, memory=1)
        made = (await site.root(cluster_pb2.CreateFlavourRequest(flavour=flavour))).flavour
        await site.root(cluster_pb2.DeleteFlavourRequest(name=made.name))
        told: list[Any] = []
        while len(told) < 2:
            told += [event for event in await watcher.some() if event.flavour.name == made.name]
    assert [(event.kind, event.flavour) for event in told] == [(CREATED, made), (DELETED, made)]
