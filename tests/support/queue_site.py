"""A running queue service with a corner for each test: its own cluster, and names that nobody else has."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from grpc import aio

from paddleflow.auth.v1 import auth_pb2
from paddleflow.channel import open_channel
from paddleflow.queue.v1 import cluster_pb2, queue_pb2
from support.callers import Caller
from support.queue_process import ROOT_PASSWORD, QueueProcess

PASSWORD = "alicepass1"
RESOURCES = frozenset({"min", "max", "lend_limit", "max_per_user"})


def amounts(named: Mapping[str, int]) -> dict[str, Any]:
    """Resources, as a message takes them."""
    return {"amounts": dict(named)}


@dataclass
class QueueSite:
    """What a test works with."""

    process: QueueProcess
    channel: aio.Channel
    root: Caller
    tag: str = field(default_factory=lambda: uuid.uuid4().hex[:10])
    """In all names of the test."""

    @property
    def cluster(self) -> str:
        return f"c-{self.tag}"

    @property
    def anyone(self) -> Caller:
        return Caller(self.channel)

    def name(self, word: str) -> str:
        """A name that only this test has."""
        return f"{word}-{self.tag}"

    def draft(self, word: str, parent: str = "", **fields: Any) -> queue_pb2.Queue:
        """A queue of the test's cluster; `min` and so on as dictionaries, the parent by its word."""
        given: dict[str, Any] = {"cluster": self.cluster} | fields
        given |= {key: amounts(given[key]) for key in RESOURCES & given.keys()}
        return queue_pb2.Queue(name=self.name(word), parent=self.name(parent) if parent else "", **given)

    async def create(self, word: str, parent: str = "", **fields: Any) -> queue_pb2.Queue:
        reply = await self.root(queue_pb2.CreateQueueRequest(queue=self.draft(word, parent, **fields)))
        made: queue_pb2.Queue = reply.queue
        return made

    async def get(self, word: str) -> queue_pb2.Queue:
        found: queue_pb2.Queue = (await self.root(queue_pb2.GetQueueRequest(name=self.name(word)))).queue
        return found

    async def told(self, word: str) -> queue_pb2.Queue:
        """As answers to changes tell of it."""
        return unused(await self.get(word))

    async def update(self, word: str, *mask: str, **fields: Any) -> queue_pb2.Queue:
        """Changes the fields of the mask; without one, those that are given."""
        request = queue_pb2.UpdateQueueRequest(queue=self.draft(word, **fields))
        request.update_mask.paths.extend(mask or fields)
        changed: queue_pb2.Queue = (await self.root(request)).queue
        return changed

    async def report(self, revision: int, *nodes: cluster_pb2.Node) -> cluster_pb2.Cluster:
        request = cluster_pb2.ReportNodesRequest(cluster=self.cluster, revision=revision, nodes=nodes)
        reported: cluster_pb2.Cluster = (await self.root(request)).cluster
        return reported

    async def add_user(self, word: str = "al") -> tuple[str, Caller]:
        """A new user, logged in."""
        name = f"{word}{self.tag}"
        await self.root(auth_pb2.CreateUserRequest(user=auth_pb2.User(name=name), password=PASSWORD))
        reply = await self.anyone(auth_pb2.LoginRequest(user=name, password=PASSWORD))
        return name, Caller(self.channel, reply.secret)

    async def grant(self, user: str, word: str) -> None:
        await self.root(auth_pb2.CreateGrantRequest(grant=self.grant_of(user, word)))

    async def ungrant(self, user: str, word: str) -> None:
        await self.root(auth_pb2.DeleteGrantRequest(grant=self.grant_of(user, word)))

    def grant_of(self, user: str, word: str) -> auth_pb2.Grant:
        return auth_pb2.Grant(user=user, kind=auth_pb2.RESOURCE_KIND_QUEUE, resource=self.name(word))


def node(
    name: str, *, labels: Mapping[str, str] | None = None, queue: str = "", **allocatable: int
) -> cluster_pb2.Node:
    """A machine on which things may start."""
    made = cluster_pb2.Node(name=name, schedulable=True, dedicated_queue=queue, labels=labels)
    made.allocatable.amounts.update(allocatable)
    return made


@asynccontextmanager
async def opened_site(process: QueueProcess) -> AsyncIterator[QueueSite]:
    """A corner of the running service."""
    async with open_channel(process.address, None) as channel:
        login = await Caller(channel)(auth_pb2.LoginRequest(user="root", password=ROOT_PASSWORD))
        site = QueueSite(process, channel, Caller(channel, login.secret))
        cluster = cluster_pb2.Cluster(name=site.cluster, type=cluster_pb2.CLUSTER_TYPE_LOCAL)
        await site.root(cluster_pb2.CreateClusterRequest(cluster=cluster))
        yield site


def unused(queue: queue_pb2.Queue) -> queue_pb2.Queue:
    """The same without what is used of it, which answers to changes do not tell."""
    told = queue_pb2.Queue()
    told.CopyFrom(queue)
    told.ClearField("used")
    return told
