"""GrantService on the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from paddleflow.auth.v1 import auth_pb2, auth_pb2_grpc
from pf_kit.call import current_call
from pf_kit.events import Event
from pf_kit.lists import Lists
from pf_kit.mutation import Mutations
from pf_kit.unit import Change, Database, View
from pf_kit.watch import Watches
from pf_queue.accounts.convert import GRANT_EVENT, existing_grant, grant_filter, grant_key, grant_message
from pf_queue.accounts.domain import GrantKey
from pf_queue.accounts.service import Grants
from pf_queue.accounts.service.grants import RESOURCES_LOCK
from pf_queue.accounts.store import LOCK


class GrantServicer(auth_pb2_grpc.GrantServiceServicer):
    """Keeps who may use what."""

    def __init__(
        self, *, database: Database, mutations: Mutations, lists: Lists, watches: Watches, grants: Grants
    ) -> None:
        self._database = database
        self._mutations = mutations
        self._lists = lists
        self._watches = watches
        self._grants = grants

    async def CreateGrant(self, request: auth_pb2.CreateGrantRequest, _context: object) -> auth_pb2.CreateGrantResponse:
        key = _key(request.grant)

        async def work(change: Change) -> auth_pb2.CreateGrantResponse:
            return auth_pb2.CreateGrantResponse(grant=grant_message(await self._grants.create(change, key)))

        return await self._mutations.run(
            request,
            auth_pb2.CreateGrantResponse,
            locks=(LOCK, RESOURCES_LOCK),
            subject=f"grant/{key}",
            work=work,
        )

    async def ListGrants(self, request: auth_pb2.ListGrantsRequest, _context: object) -> auth_pb2.ListGrantsResponse:
        view, caller, chosen = self._database.newest, current_call().principal, grant_filter(request)
        page = await self._lists.page(
            request,
            lambda after, limit: self._grants.page(view, caller, chosen, after, limit),
            lambda grant: str(grant.key),
        )
        return auth_pb2.ListGrantsResponse(grants=map(grant_message, page.things), next_page_token=page.next_token)

    async def DeleteGrant(self, request: auth_pb2.DeleteGrantRequest, _context: object) -> auth_pb2.DeleteGrantResponse:
        key = _key(request.grant)

        async def work(change: Change) -> auth_pb2.DeleteGrantResponse:
            await self._grants.delete(change, key)
            return auth_pb2.DeleteGrantResponse()

        return await self._mutations.run(
            request, auth_pb2.DeleteGrantResponse, locks=(LOCK,), subject=f"grant/{key}", work=work
        )

    async def WatchGrants(
        self, request: auth_pb2.WatchGrantsRequest, _context: object
    ) -> AsyncIterator[auth_pb2.WatchGrantsResponse]:
        async for page in self._watches.watch(request.resume_token, existing=self._existing, changes=self._changes):
            yield auth_pb2.WatchGrantsResponse(
                events=page.messages, resume_token=page.resume_token, bookmark=page.bookmark
            )

    async def _existing(self, view: View) -> Sequence[auth_pb2.GrantEvent]:
        return [existing_grant(grant) for grant in await self._grants.all(view)]

    async def _changes(self, event: Event) -> Sequence[auth_pb2.GrantEvent]:
        return [auth_pb2.GrantEvent.FromString(event.fact.payload)] if event.fact.type == GRANT_EVENT else []


def _key(grant: auth_pb2.Grant) -> GrantKey:
    return grant_key(grant.user, grant.kind, grant.resource, "grant.")
