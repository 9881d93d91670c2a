"""What a watch of workloads tells its caller."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from paddleflow.auth.v1 import auth_pb2
from paddleflow.common.v1 import event_pb2
from paddleflow.queue.v1 import admission_pb2, workload_pb2
from pf_kit.events import Event
from pf_kit.principal import Principal
from pf_kit.unit import Database, View
from pf_queue.accounts.convert import GRANT_EVENT
from pf_queue.admission.convert import WORKLOAD_EVENT, workload_message
from pf_queue.admission.domain import Record
from pf_queue.admission.store import WorkloadStore
from pf_queue.quota.visibility import Visibility

KINDS = {
    "submitted": event_pb2.CHANGE_KIND_CREATED,
    "admitted": event_pb2.CHANGE_KIND_UPDATED,
    "evicting": event_pb2.CHANGE_KIND_UPDATED,
    "requeued": event_pb2.CHANGE_KIND_CREATED,
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

    async def begin(self) -> None:
        """Finds out what the caller may see."""
        self._visible = await self._visibility.names(self._database.newest, self._caller)

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
        change = change_message(workload_pb2.WorkloadEvent.FromString(event.fact.payload))
        return [change] if self._sees(change.queue) else []

    async def _regrant(self, event: Event, visible: frozenset[str]) -> Sequence[admission_pb2.WorkloadChange]:
        """The workloads of a queue that was granted during the watch appear as existing."""
        user, _, queue = event.fact.subject.removeprefix("grant/").partition("/queue/")
        if user != self._caller.name or not queue:
            return []
        if auth_pb2.GrantEvent.FromString(event.fact.payload).kind == event_pb2.CHANGE_KIND_DELETED:
            self._visible = visible - {queue}
            return []
        self._visible = visible | {queue}
        found = await self._store.unfinished(self._database.newest)
        return _told(record for record in found if record.spec.queue == queue and self._sees(queue))

    def _sees(self, queue: str) -> bool:
        return (self._visible is None or queue in self._visible) and (not self._asked or queue in self._asked)


def _told(records: Iterable[Record]) -> Sequence[admission_pb2.WorkloadChange]:
    return [existing(record) for record in sorted(records, key=lambda record: record.number)]


def existing(record: Record) -> admission_pb2.WorkloadChange:
    return admission_pb2.WorkloadChange(
        kind=event_pb2.CHANGE_KIND_EXISTING, workload=workload_message(record), queue=record.spec.queue
    )


def change_message(event: workload_pb2.WorkloadEvent) -> admission_pb2.WorkloadChange:
    fact = event.WhichOneof("fact")
    if fact is None:
        return admission_pb2.WorkloadChange()
    kind = KINDS.get(fact, event_pb2.CHANGE_KIND_DELETED)
    if fact == "released" and not event.released.outcome:
        kind = event_pb2.CHANGE_KIND_UPDATED
    return admission_pb2.WorkloadChange(kind=kind, event=event, queue=getattr(event, fact).queue)
