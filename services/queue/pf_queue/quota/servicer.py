"""QueueService on the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TypeVar

from paddleflow.queue.v1 import queue_pb2, queue_pb2_grpc
from pf_kit.call import current_call
from pf_kit.lists import Lists
from pf_kit.mutation import Mutations
from pf_kit.unit import Change, Database
from pf_kit.watch import Watches
from pf_queue.accounts.store import LOCK as ACCOUNTS_LOCK
from pf_queue.clusters.store import TREE_LOCK
from pf_queue.quota.convert import given_queue, new_queue, queue_filter, queue_message
from pf_queue.quota.domain import StateEvent
from pf_queue.quota.service import Queues
from pf_queue.quota.watching import Tellers

MoveRequest = queue_pb2.OpenQueueRequest | queue_pb2.HoldQueueRequest | queue_pb2.DrainQueueRequest
R = TypeVar(
    "R",
    queue_pb2.OpenQueueResponse,
    queue_pb2.HoldQueueResponse,
    queue_pb2.DrainQueueResponse,
)


class QueueServicer(queue_pb2_grpc.QueueServiceServicer):
    """Keeps the quota tree."""

    def __init__(
        self,
        *,
        database: Database,
        mutations: Mutations,
        lists: Lists,
        watches: Watches,
        queues: Queues,
        tellers: Tellers,
    ) -> None:
        self._database = database
        self._mutations = mutations
        self._lists = lists
        self._watches = watches
        self._queues = queues
        self._tellers = tellers

    async def CreateQueue(
        self, request: queue_pb2.CreateQueueRequest, _context: object
    ) -> queue_pb2.CreateQueueResponse:
        draft = new_queue(request.queue)

        async def work(change: Change) -> queue_pb2.CreateQueueResponse:
            return queue_pb2.CreateQueueResponse(queue=queue_message(await self._queues.create(change, draft)))

        return await self._mutations.run(
            request, queue_pb2.CreateQueueResponse, locks=(TREE_LOCK,), subject=f"queue/{draft.name}", work=work
        )

    async def GetQueue(self, request: queue_pb2.GetQueueRequest, _context: object) -> queue_pb2.GetQueueResponse:
        standing = await self._queues.get(self._database.newest, current_call().principal, request.name)
        return queue_pb2.GetQueueResponse(queue=queue_message(standing))

    async def ListQueues(self, request: queue_pb2.ListQueuesRequest, _context: object) -> queue_pb2.ListQueuesResponse:
        view, caller, chosen = self._database.newest, current_call().principal, queue_filter(request)
        page = await self._lists.page(
            request,
            lambda after, limit: self._queues.page(view, caller, chosen, after, limit),
            lambda standing: standing.queue.name,
        )
        return queue_pb2.ListQueuesResponse(queues=map(queue_message, page.things), next_page_token=page.next_token)

    async def UpdateQueue(
        self, request: queue_pb2.UpdateQueueRequest, _context: object
    ) -> queue_pb2.UpdateQueueResponse:
        given, etag, mask = given_queue(request.queue), request.queue.etag, request.update_mask.paths

        async def work(change: Change) -> queue_pb2.UpdateQueueResponse:
            standing = await self._queues.update(change, given, etag, mask)
            return queue_pb2.UpdateQueueResponse(queue=queue_message(standing))

        return await self._mutations.run(
            request, queue_pb2.UpdateQueueResponse, locks=(TREE_LOCK,), subject=f"queue/{given.name}", work=work
        )

    async def DeleteQueue(
        self, request: queue_pb2.DeleteQueueRequest, _context: object
    ) -> queue_pb2.DeleteQueueResponse:
        async def work(change: Change) -> queue_pb2.DeleteQueueResponse:
            await self._queues.delete(change, request.name, request.etag)
            return queue_pb2.DeleteQueueResponse()

        locks, subject = (ACCOUNTS_LOCK, TREE_LOCK), f"queue/{request.name}"
        return await self._mutations.run(
            request, queue_pb2.DeleteQueueResponse, locks=locks, subject=subject, work=work
        )

    async def OpenQueue(self, request: queue_pb2.OpenQueueRequest, _context: object) -> queue_pb2.OpenQueueResponse:
        return await self._move(request, queue_pb2.OpenQueueResponse, StateEvent.OPEN)

    async def HoldQueue(self, request: queue_pb2.HoldQueueRequest, _context: object) -> queue_pb2.HoldQueueResponse:
        return await self._move(request, queue_pb2.HoldQueueResponse, StateEvent.HOLD)

    async def DrainQueue(self, request: queue_pb2.DrainQueueRequest, _context: object) -> queue_pb2.DrainQueueResponse:
        return await self._move(request, queue_pb2.DrainQueueResponse, StateEvent.DRAIN)

    async def CloseQueue(self, request: queue_pb2.CloseQueueRequest, _context: object) -> queue_pb2.CloseQueueResponse:
        async def work(change: Change) -> queue_pb2.CloseQueueResponse:
            return queue_pb2.CloseQueueResponse(queue=queue_message(await self._queues.close(change, request.name)))

        return await self._mutations.run(
            request, queue_pb2.CloseQueueResponse, locks=(TREE_LOCK,), subject=f"queue/{request.name}", work=work
        )

    async def WatchQueues(
        self, request: queue_pb2.WatchQueuesRequest, _context: object
    ) -> AsyncIterator[queue_pb2.WatchQueuesResponse]:
        teller = await self._tellers.teller(current_call().principal, request)
        async for page in self._watches.watch(request.resume_token, existing=teller.existing, changes=teller.changes):
            yield queue_pb2.WatchQueuesResponse(
                events=page.messages, resume_token=page.resume_token, bookmark=page.bookmark
            )

    async def _move(self, request: MoveRequest, reply: type[R], event: StateEvent) -> R:
        async def work(change: Change) -> R:
            return reply(queue=queue_message(await self._queues.move(change, request.name, event)))

        subject = f"queue/{request.name}"
        return await self._mutations.run(request, reply, locks=(TREE_LOCK,), subject=subject, work=work)
