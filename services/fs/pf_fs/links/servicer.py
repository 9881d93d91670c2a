"""LinkService on the wire."""

from __future__ import annotations

from paddleflow.fs.v1 import link_pb2 as pb
from paddleflow.fs.v1 import link_pb2_grpc
from pf_fs.convert import key_of, target_of
from pf_fs.links.convert import link_draft_of, link_message, link_path_of
from pf_fs.links.service import Links
from pf_fs.store import LOCK
from pf_kit.call import current_call
from pf_kit.mutation import Mutations
from pf_kit.unit import Change, Database


class LinkServicer(link_pb2_grpc.LinkServiceServicer):
    """Lets other places appear in folders of a filesystem."""

    def __init__(self, *, database: Database, mutations: Mutations, links: Links) -> None:
        self._database = database
        self._mutations = mutations
        self._links = links

    async def CreateLink(self, request: pb.CreateLinkRequest, _context: object) -> pb.CreateLinkResponse:
        caller, draft = current_call().principal, link_draft_of(request.link)
        target = target_of(caller, request.filesystem)
        judged = await self._links.judge(self._database.newest, caller, target, draft)

        async def work(change: Change) -> pb.CreateLinkResponse:
            return pb.CreateLinkResponse(link=link_message(await self._links.create(change, caller, judged)))

        return await self._mutations.run(
            request, pb.CreateLinkResponse, locks=(LOCK,), subject=f"filesystem/{target}", work=work
        )

    async def GetLink(self, request: pb.GetLinkRequest, _context: object) -> pb.GetLinkResponse:
        key, path = key_of(request.filesystem), link_path_of(request.path)
        found = await self._links.get(self._database.newest, current_call().principal, key, path)
        return pb.GetLinkResponse(link=link_message(found))

    async def ListLinks(self, request: pb.ListLinksRequest, _context: object) -> pb.ListLinksResponse:
        found = await self._links.all(self._database.newest, current_call().principal, key_of(request.filesystem))
        return pb.ListLinksResponse(links=map(link_message, found))

    async def DeleteLink(self, request: pb.DeleteLinkRequest, _context: object) -> pb.DeleteLinkResponse:
        caller, path = current_call().principal, link_path_of(request.path)
        target = target_of(caller, request.filesystem)

        async def work(change: Change) -> pb.DeleteLinkResponse:
            await self._links.delete(change, caller, target, path)
            return pb.DeleteLinkResponse()

        return await self._mutations.run(
            request, pb.DeleteLinkResponse, locks=(LOCK,), subject=f"filesystem/{target}", work=work
        )
