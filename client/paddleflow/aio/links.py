"""Links: other places in folders of a filesystem."""

from __future__ import annotations

from collections.abc import Sequence

from grpc import aio

from paddleflow.aio.filesystems import ASKING
from paddleflow.aio.session import Session
from paddleflow.fs.v1 import link_pb2, link_pb2_grpc
from paddleflow.models.mounts import FilesystemLink
from paddleflow.wire.base import build
from paddleflow.wire.filesystems import filesystem_key
from paddleflow.wire.mounts import link_from_wire, link_to_wire


class FilesystemLinks:
    """Folders of filesystems in which the files of other places are. A name without an owner is the caller's own."""

    def __init__(self, session: Session, channel: aio.Channel) -> None:
        self._session = session
        self._stub: link_pb2_grpc.LinkServiceAsyncStub = link_pb2_grpc.LinkServiceStub(channel)

    async def create(self, name: str, link: FilesystemLink, *, owner: str = "", request_id: str = "") -> FilesystemLink:
        """Adds a link to a filesystem; returns it as the server completed it."""
        request = build(link_pb2.CreateLinkRequest, filesystem=filesystem_key(name, owner), link=link_to_wire(link))
        reply = await self._session.change(self._stub.CreateLink, request, request_id, patience=ASKING)
        return link_from_wire(reply.link)

    async def get(self, name: str, path: str, *, owner: str = "") -> FilesystemLink:
        """The link at a path of a filesystem. Raises LinkNotFound."""
        request = build(link_pb2.GetLinkRequest, filesystem=filesystem_key(name, owner), path=path)
        return link_from_wire((await self._session.call(self._stub.GetLink, request)).link)

    async def list(self, name: str, *, owner: str = "") -> Sequence[FilesystemLink]:
        """All links of a filesystem, by path."""
        request = build(link_pb2.ListLinksRequest, filesystem=filesystem_key(name, owner))
        reply = await self._session.call(self._stub.ListLinks, request)
        return [link_from_wire(each) for each in reply.links]

    async def delete(self, name: str, path: str, *, owner: str = "", request_id: str = "") -> None:
        """Removes a link; the files stay where they are."""
        request = build(link_pb2.DeleteLinkRequest, filesystem=filesystem_key(name, owner), path=path)
        await self._session.change(self._stub.DeleteLink, request, request_id)
