"""What a watch of workloads tells its caller."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from paddleflow.auth.v1 import auth_pb2
from paddleflow.common.v1 import event_pb2
from paddleflow.queue.v1 import admission_pb2, workload_pb2
from pf_kit.events import Event
from pf_kit.principal import Principal
from pf_kit.unit import Database, View
from pf_queue.accounts.convert import GRANT_EVENT
from pf_queue.admission.convert import WORKLOAD_EVENT, key_message, key_of, workload_message
from pf_queue.admission.domain import Record
from pf_queue.admission.store import OverFilter, WorkloadStore
from pf_queue.admission.times import micros
from pf_queue.quota.resumption import since
from pf_queue.quota.visibility import Visibility

ALL = 1_000_000
"""More workloads than end while a grant is taken."""
SKEW = timedelta(seconds=5)
"""Between the time of a change and its place in the log. Told twice of an end is better than not at all."""
REMEMBERED = 10_000
"""Ends that are not told twice."""

KINDS = {
    "submitted": event_pb2.CHANGE_KIND_CREATED,
    "admitted": event_pb2.CHANGE_KIND_UPDATED,
    "evicting": event_pb2.CHANGE_KIND_UPDATED,
    "requeued": event_pb2.CHANGE_KIND_CREATED,
    "updated": event_pb2.CHANGE_KIND_UPDATED,
}


class Teller:
    """Says what events mean to one watcher, who may see some queues, and asks for some of them."""

    def __init__(
        self,
        *,
        database: Database,
        store: WorkloadStore,
        visibility: Visibility,
        caller: Principal,
        asked: frozenset[str],
    ) -> None:
        self._database = database
        self._store = store
        self._visibility = visibility
        self._caller = caller
        self._asked = asked
        self._visible: frozenset[str] | None = frozenset()
        """None for all."""
        self._ended: dict[tuple[str, int], None] = {}
        """The last of which the end was told."""

    async def resume(self, token: str) -> None:
        """Finds out which queues the caller could see at the place of a token."""
        async with self._database.snapshot() as snapshot:
            now, moment = await self._visibility.names(snapshot, self._caller), snapshot.moment
        if now is not None:
            now = (await since(self._database, token, moment, self._caller.name)).granted_at_place(now)
        self._visible = now

    async def existing(self, view: View) -> Sequence[admission_pb2.WorkloadChange]:
        """The workloads as they are, in the order in which they were submitted."""
        self._visible = await self._visibility.names(view, self._caller)
        return _told(record for record in await self._store.unfinished(view) if self._sees(record.spec.queue))

    async def changes(self, event: Event) -> Sequence[admission_pb2.WorkloadChange]:
        """What an event means; often nothing."""
        if event.fact.type == GRANT_EVENT and self._visible is not None:
            return await self._regrant(event, self._visible)
        if event.fact.type != WORKLOAD_EVENT:
            return []
        change = change_message(workload_pb2.WorkloadEvent.FromString(event.fact.payload), event.fact.version)
        if not self._sees(change.queue):
            return []
        if change.kind == event_pb2.CHANGE_KIND_DELETED:
            self._remember(change.event.released.key)
        return [change]

    async def _regrant(self, event: Event, visible: frozenset[str]) -> Sequence[admission_pb2.WorkloadChange]:
        """The workloads of a queue appear as existing when it is granted during the watch, and end when it is taken."""
        user, _, queue = event.fact.subject.removeprefix("grant/").partition("/queue/")
        if user != self._caller.name or not queue:
            return []
        if auth_pb2.GrantEvent.FromString(event.fact.payload).kind == event_pb2.CHANGE_KIND_DELETED:
            taken = await self._taken(queue, event.create_time) if self._sees(queue) else []
            self._visible = visible - {queue}
            return taken
        self._visible = visible | {queue}
        return _told(await self._store.unfinished_in(self._database.newest, queue) if self._sees(queue) else [])

    async def _taken(self, queue: str, time: datetime) -> Sequence[admission_pb2.WorkloadChange]:
        """The end of all that the watcher may know of a queue. What became of them since is not for its eyes."""
        view = self._database.newest
        over = await self._store.over_in_queue(view, OverFilter(queue, since=time - SKEW), None, ALL)
        found = [*await self._store.unfinished_in(view, queue), *(each.record for each in over)]
        return [ended(record) for record in found if self._knows(record, time)]

    def _knows(self, record: Record, time: datetime) -> bool:
        """True if the watcher may have been told of a workload by a time, and not of its end."""
        key = record.spec.key
        return record.submitted <= micros(time + SKEW) and (key.job, key.attempt) not in self._ended

    def _remember(self, key: workload_pb2.WorkloadKey) -> None:
        self._ended[key.job_id, key.attempt] = None
        if len(self._ended) > REMEMBERED:
            del self._ended[next(iter(self._ended))]

    def _sees(self, queue: str) -> bool:
        return (self._visible is None or queue in self._visible) and (not self._asked or queue in self._asked)


def _told(records: Iterable[Record]) -> Sequence[admission_pb2.WorkloadChange]:
    return [existing(record) for record in sorted(records, key=lambda record: record.number)]


def existing(record: Record) -> admission_pb2.WorkloadChange:
    return admission_pb2.WorkloadChange(
        kind=event_pb2.CHANGE_KIND_EXISTING, workload=workload_message(record), queue=record.spec.queue
    )


def ended(record: Record) -> admission_pb2.WorkloadChange:
    """A workload that is there no more for whoever watches: all that is told of it is what it is called."""
    told = workload_pb2.Workload(key=key_message(record.spec.key), queue=record.spec.queue)
    return admission_pb2.WorkloadChange(kind=event_pb2.CHANGE_KIND_DELETED, workload=told, queue=record.spec.queue)


def change_message(event: workload_pb2.WorkloadEvent, version: int) -> admission_pb2.WorkloadChange:
    """What the event of this version says; an attempt that waits anew after it was held is not a new one."""
    fact = event.WhichOneof("fact")
    if fact is None:
        return admission_pb2.WorkloadChange()
    kind = KINDS.get(fact, event_pb2.CHANGE_KIND_DELETED)
    if fact == "released" and not event.released.outcome:
        kind = event_pb2.CHANGE_KIND_UPDATED
    if fact == "requeued" and version > key_of(event.requeued.key).first_version:
        kind = event_pb2.CHANGE_KIND_UPDATED
    return admission_pb2.WorkloadChange(kind=kind, event=event, queue=getattr(event, fact).queue)
