"""FlavourService on the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from paddleflow.queue.v1 import cluster_pb2, cluster_pb2_grpc
from pf_kit.call import current_call
from pf_kit.events import Event
from pf_kit.lists import Lists
from pf_kit.mutation import Mutations
from pf_kit.unit import Change, Database, View
from pf_kit.watch import Watches
from pf_queue.clusters.convert import (
    FLAVOUR_EVENT,
    existing_flavour,
    flavour_filter,
    flavour_message,
    given_flavour,
    new_flavour,
)
from pf_queue.clusters.domain import FlavourFilter
from pf_queue.clusters.flavours import Flavours
from pf_queue.clusters.store import TREE_LOCK

ALL = 100_000
"""More flavours than there are."""


class FlavourServicer(cluster_pb2_grpc.FlavourServiceServicer):
    """Keeps named bundles of resources."""

    def __init__(
        self, *, database: Database, mutations: Mutations, lists: Lists, watches: Watches, flavours: Flavours
    ) -> None:
        self._database = database
        self._mutations = mutations
        self._lists = lists
        self._watches = watches
        self._flavours = flavours

    async def CreateFlavour(
        self, request: cluster_pb2.CreateFlavourRequest, _context: object
    ) -> cluster_pb2.CreateFlavourResponse:
        caller, draft = current_call().principal, new_flavour(request.flavour)

        async def work(change: Change) -> cluster_pb2.CreateFlavourResponse:
            flavour = await self._flavours.create(change, caller, draft)
            return cluster_pb2.CreateFlavourResponse(flavour=flavour_message(flavour))

        return await self._mutations.run(
            request, cluster_pb2.CreateFlavourResponse, locks=(TREE_LOCK,), subject=f"flavour/{draft.name}", work=work
        )

    async def GetFlavour(
        self, request: cluster_pb2.GetFlavourRequest, _context: object
    ) -> cluster_pb2.GetFlavourResponse:
        flavour = await self._flavours.get(self._database.newest, request.name)
        return cluster_pb2.GetFlavourResponse(flavour=flavour_message(flavour))

    async def ListFlavours(
        self, request: cluster_pb2.ListFlavoursRequest, _context: object
    ) -> cluster_pb2.ListFlavoursResponse:
        view, chosen = self._database.newest, flavour_filter(request)
        page = await self._lists.page(
            request,
            lambda after, limit: self._flavours.page(view, chosen, after, limit),
            lambda flavour: flavour.name,
        )
        return cluster_pb2.ListFlavoursResponse(
            flavours=map(flavour_message, page.things), next_page_token=page.next_token
        )

    async def UpdateFlavour(
        self, request: cluster_pb2.UpdateFlavourRequest, _context: object
    ) -> cluster_pb2.UpdateFlavourResponse:
        caller, given, mask = current_call().principal, given_flavour(request.flavour), request.update_mask.paths

        async def work(change: Change) -> cluster_pb2.UpdateFlavourResponse:
            flavour = await self._flavours.update(change, caller, given, request.flavour.etag, mask)
            return cluster_pb2.UpdateFlavourResponse(flavour=flavour_message(flavour))

        return await self._mutations.run(
            request, cluster_pb2.UpdateFlavourResponse, locks=(TREE_LOCK,), subject=f"flavour/{given.name}", work=work
        )

    async def DeleteFlavour(
        self, request: cluster_pb2.DeleteFlavourRequest, _context: object
    ) -> cluster_pb2.DeleteFlavourResponse:
        caller = current_call().principal

        async def work(change: Change) -> cluster_pb2.DeleteFlavourResponse:
            await self._flavours.delete(change, caller, request.name, request.etag)
            return cluster_pb2.DeleteFlavourResponse()

        return await self._mutations.run(
            request, cluster_pb2.DeleteFlavourResponse, locks=(TREE_LOCK,), subject=f"flavour/{request.name}", work=work
        )

    async def WatchFlavours(
        self, request: cluster_pb2.WatchFlavoursRequest, _context: object
    ) -> AsyncIterator[cluster_pb2.WatchFlavoursResponse]:
        async for page in self._watches.watch(request.resume_token, existing=self._existing, changes=self._changes):
            yield cluster_pb2.WatchFlavoursResponse(
                events=page.messages, resume_token=page.resume_token, bookmark=page.bookmark
            )

    async def _existing(self, view: View) -> Sequence[cluster_pb2.FlavourEvent]:
        return [existing_flavour(flavour) for flavour in await self._flavours.page(view, FlavourFilter(), "", ALL)]

    async def _changes(self, event: Event) -> Sequence[cluster_pb2.FlavourEvent]:
        return [cluster_pb2.FlavourEvent.FromString(event.fact.payload)] if event.fact.type == FLAVOUR_EVENT else []
