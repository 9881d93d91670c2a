# Written by tools/generate_sync.py from paddleflow/aio/queues.py; change it there.
"""The quota tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Unpack

from paddleflow.models.pages import Page
from paddleflow.models.queues import Queue, QueueChanges, QueueFilter
from paddleflow.models.watches import Change, WatchItem
from paddleflow.queue.v1 import queue_pb2, queue_pb2_grpc
from paddleflow.sync.pages import every
from paddleflow.sync.session import Session
from paddleflow.sync.watch import watch
from paddleflow.wire.audit import CHANGE_KIND
from paddleflow.wire.base import build
from paddleflow.wire.queues import STATE, queue_changes_to_wire, queue_from_wire, queue_to_wire


class Queues:
    """Who may use how much of a cluster. Everything but reading is for root; users see the queues granted to them."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._stub: queue_pb2_grpc.QueueServiceStub = queue_pb2_grpc.QueueServiceStub(session.channel)

    def create(self, queue: Queue, *, request_id: str = "") -> Queue:
        """Adds a queue; returns it as the server completed it."""
        request = build(queue_pb2.CreateQueueRequest, queue=queue_to_wire(queue))
        reply = self._session.change(self._stub.CreateQueue, request, request_id)
        return queue_from_wire(reply.queue)

    def get(self, name: str) -> Queue:
        reply = self._session.call(self._stub.GetQueue, build(queue_pb2.GetQueueRequest, name=name))
        return queue_from_wire(reply.queue)

    def list(self, **chosen: Unpack[QueueFilter]) -> Iterator[Queue]:
        """The queues, by name; fetches page after page."""
        return every(lambda size, token: self.page(size, token, **chosen))

    def page(self, size: int = 0, token: str = "", **chosen: Unpack[QueueFilter]) -> Page[Queue]:
        """One page of the list: at most `size` queues (0: as many as the server likes) from the token on."""
        request = build(
            queue_pb2.ListQueuesRequest,
            cluster=chosen.get("cluster", ""),
            namespace=chosen.get("namespace", ""),
            parent=chosen.get("parent", ""),
            states=[STATE.number(state) for state in chosen.get("states", ())],
            name_prefix=chosen.get("name_prefix", ""),
            labels=chosen.get("labels"),
            page_size=size,
            page_token=token,
        )
        reply = self._session.call(self._stub.ListQueues, request)
        return Page([queue_from_wire(queue) for queue in reply.queues], reply.next_page_token)

    def update(self, name: str, *, etag: str = "", request_id: str = "", **changes: Unpack[QueueChanges]) -> Queue:
        """Changes the fields given; with an etag, only if the queue has not changed since it was read."""
        queue, mask = queue_changes_to_wire(name, etag, changes)
        request = build(queue_pb2.UpdateQueueRequest, queue=queue, update_mask=mask)
        reply = self._session.change(self._stub.UpdateQueue, request, request_id)
        return queue_from_wire(reply.queue)

    def delete(self, name: str, *, etag: str = "", request_id: str = "") -> None:
        """Removes a queue and the grants on it."""
        request = build(queue_pb2.DeleteQueueRequest, name=name, etag=etag)
        self._session.change(self._stub.DeleteQueue, request, request_id)

    def open(self, name: str, *, request_id: str = "") -> Queue:
        """Lets a queue take and admit workloads."""
        request = build(queue_pb2.OpenQueueRequest, name=name)
        reply = self._session.change(self._stub.OpenQueue, request, request_id)
        return queue_from_wire(reply.queue)

    def hold(self, name: str, *, request_id: str = "") -> Queue:
        """Keeps a queue from admitting; what runs goes on, what comes waits."""
        request = build(queue_pb2.HoldQueueRequest, name=name)
        reply = self._session.change(self._stub.HoldQueue, request, request_id)
        return queue_from_wire(reply.queue)

    def drain(self, name: str, *, request_id: str = "") -> Queue:
        """Holds a queue and sends its running workloads back to wait."""
        request = build(queue_pb2.DrainQueueRequest, name=name)
        reply = self._session.change(self._stub.DrainQueue, request, request_id)
        return queue_from_wire(reply.queue)

    def close(self, name: str, *, request_id: str = "") -> Queue:
        """Makes a queue refuse new workloads; when it has finished those it has, it is closed."""
        request = build(queue_pb2.CloseQueueRequest, name=name)
        reply = self._session.change(self._stub.CloseQueue, request, request_id)
        return queue_from_wire(reply.queue)

    def watch(self, *, cluster: str = "", resume_token: str = "") -> Iterator[WatchItem[Queue]]:
        """The queues as they are, then every change, for ever; resumes by itself when the stream breaks."""
        request = build(queue_pb2.WatchQueuesRequest, cluster=cluster, resume_token=resume_token)
        return watch(self._session, self._stub.WatchQueues, request, _changes)


def _changes(message: queue_pb2.WatchQueuesResponse) -> Sequence[Change[Queue]]:
    return [Change(CHANGE_KIND.member(event.kind), queue_from_wire(event.queue)) for event in message.events]
