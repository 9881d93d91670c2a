"""What a watch of queues tells its caller: of all queues, or of those that are granted to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from paddleflow.auth.v1 import auth_pb2
from paddleflow.common.v1 import event_pb2
from paddleflow.queue.v1 import queue_pb2
from pf_kit.events import Event, Fact
from pf_kit.fields import plain_text, require
from pf_kit.principal import Principal
from pf_kit.unit import Database, View
from pf_queue.accounts.convert import GRANT_EVENT
from pf_queue.accounts.domain import ResourceKind
from pf_queue.fields import FILTER_LENGTH
from pf_queue.quota.convert import QUEUE_EVENT, existing, queue_message
from pf_queue.quota.domain import QueueFilter
from pf_queue.quota.ports import Granted
from pf_queue.quota.resumption import Since, since
from pf_queue.quota.store import QueueStore

ALL = 1_000_000
"""More queues than there are."""


class Teller(Protocol):
    """Says what things mean to one watcher."""

    async def existing(self, view: View) -> Sequence[queue_pb2.QueueEvent]:
        """The queues as they are."""

    async def changes(self, event: Event) -> Sequence[queue_pb2.QueueEvent]:
        """What an event means; often nothing."""


class AllQueues:
    """Tells of every queue, or of every queue of one cluster."""

    def __init__(self, *, store: QueueStore, cluster: str) -> None:
        self._store = store
        self._cluster = cluster

    async def existing(self, view: View) -> Sequence[queue_pb2.QueueEvent]:
        return [existing(found) for found in await self._store.page(view, QueueFilter(cluster=self._cluster), "", ALL)]

    async def changes(self, event: Event) -> Sequence[queue_pb2.QueueEvent]:
        if event.fact.type != QUEUE_EVENT:
            return []
        told = queue_pb2.QueueEvent.FromString(event.fact.payload)
        return [told] if self._cluster in ("", told.queue.cluster) else []


@dataclass(frozen=True, slots=True)
class _Told:
    """The last that the watcher knows of a queue."""

    queue: queue_pb2.Queue
    version: int
    """Events up to this version of the queue are told."""


class GrantedQueues:
    """Tells of the queues that are granted to a user. What happens to grants shows as queues that come and go."""

    def __init__(self, *, database: Database, store: QueueStore, grants: Granted, user: str, cluster: str) -> None:
        self._database = database
        self._store = store
        self._grants = grants
        self._user = user
        self._cluster = cluster
        self._told: dict[str, _Told] = {}
        """The queues the watcher may see, by name."""

    async def resume(self, token: str) -> None:
        """Finds out which queues the watcher could see at the place of the token."""
        async with self._database.snapshot() as snapshot:
            now, moment = await self._grants.granted(snapshot, self._user, ResourceKind.QUEUE), snapshot.moment
        changed = await since(self._database, token, moment, self._user)
        for queue in await self._at_place(token, changed, changed.granted_at_place(now)):
            self._keep(queue, 0)

    async def _at_place(self, token: str, changed: Since, names: frozenset[str]) -> Sequence[queue_pb2.Queue]:
        async with self._database.snapshot() as snapshot:
            found = await self._store.page(snapshot, QueueFilter(names=names), "", ALL)
            moment = snapshot.moment
        known = {standing.queue.name: queue_message(standing) for standing in found}
        if not names <= known.keys() | changed.queues.keys():
            # Some were deleted since the grants were read: the log tells what they were.
            changed = await since(self._database, token, moment, self._user)
        return [queue for name in names if (queue := changed.queue(name) or known.get(name))]

    async def existing(self, view: View) -> Sequence[queue_pb2.QueueEvent]:
        granted = await self._grants.granted(view, self._user, ResourceKind.QUEUE)
        found = await self._store.page(view, QueueFilter(names=granted, cluster=self._cluster), "", ALL)
        events = [existing(standing) for standing in found]
        for standing, event in zip(found, events, strict=True):
            self._keep(event.queue, standing.queue.version)
        return events

    async def changes(self, event: Event) -> Sequence[queue_pb2.QueueEvent]:
        kind, _, name = event.fact.subject.partition("/")
        if kind == "queue":
            return self._changed(name, event.fact)
        user, _, resource = name.partition("/queue/")
        if event.fact.type != GRANT_EVENT or user != self._user or not resource:
            return []
        if auth_pb2.GrantEvent.FromString(event.fact.payload).kind == event_pb2.CHANGE_KIND_DELETED:
            return self._taken(resource)
        return await self._given(resource)

    def _changed(self, name: str, fact: Fact) -> Sequence[queue_pb2.QueueEvent]:
        told = self._told.get(name)
        if told is None or fact.version <= told.version:
            return []
        event = queue_pb2.QueueEvent.FromString(fact.payload)
        if event.kind == event_pb2.CHANGE_KIND_DELETED:
            del self._told[name]
        else:
            self._keep(event.queue, fact.version)
        return [event]

    async def _given(self, name: str) -> Sequence[queue_pb2.QueueEvent]:
        # The grant is looked at again: since it was made, the queue may have become another one of the same name.
        async with self._database.snapshot() as snapshot:
            if name not in await self._grants.granted(snapshot, self._user, ResourceKind.QUEUE):
                return []
            standing = await self._store.standing(snapshot, name)
        if standing is None or self._cluster not in ("", standing.queue.cluster):
            return []
        queue = queue_message(standing)
        self._keep(queue, standing.queue.version)
        return [queue_pb2.QueueEvent(kind=event_pb2.CHANGE_KIND_CREATED, queue=queue)]

    def _taken(self, name: str) -> Sequence[queue_pb2.QueueEvent]:
        told = self._told.pop(name, None)
        return [queue_pb2.QueueEvent(kind=event_pb2.CHANGE_KIND_DELETED, queue=told.queue)] if told else []

    def _keep(self, queue: queue_pb2.Queue, version: int) -> None:
        if self._cluster in ("", queue.cluster):
            self._told[queue.name] = _Told(queue, version)


class Tellers:
    """Chooses who tells a caller of queues."""

    def __init__(self, *, database: Database, store: QueueStore, grants: Granted) -> None:
        self._database = database
        self._store = store
        self._grants = grants

    async def teller(self, caller: Principal, request: queue_pb2.WatchQueuesRequest) -> Teller:
        """The teller for this caller, ready to go on if the request does."""
        require(plain_text("cluster", request.cluster, FILTER_LENGTH))
        if caller.root:
            return AllQueues(store=self._store, cluster=request.cluster)
        teller = GrantedQueues(
            database=self._database,
            store=self._store,
            grants=self._grants,
            user=caller.name,
            cluster=request.cluster,
        )
        if request.resume_token:
            await teller.resume(request.resume_token)
        return teller
