"""Where filesystems are mounted, and how what is read there is kept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Unpack

from grpc import aio

from paddleflow.aio.pages import every
from paddleflow.aio.session import Session
from paddleflow.fs.v1 import mount_pb2, mount_pb2_grpc
from paddleflow.models.mounts import FilesystemCache, MountFilter, MountReport, ReportReceipt
from paddleflow.models.pages import Page
from paddleflow.wire.base import build
from paddleflow.wire.filesystems import filesystem_key, quota_from_wire
from paddleflow.wire.mounts import cache_from_wire, cache_to_wire, report_from_wire, report_to_wire


class FilesystemMounts:
    """Mounts, as those tell who mount, and caches, as owners say. A name without an owner is the caller's own."""

    def __init__(self, session: Session, channel: aio.Channel) -> None:
        self._session = session
        self._stub: mount_pb2_grpc.MountServiceAsyncStub = mount_pb2_grpc.MountServiceStub(channel)

    async def report(self, name: str, report: MountReport, *, owner: str = "") -> ReportReceipt:
        """Tells that a filesystem is mounted: at the beginning, and as often as the answer says."""
        request = build(
            mount_pb2.ReportMountRequest, filesystem=filesystem_key(name, owner), mount=report_to_wire(report)
        )
        reply = await self._session.call(self._stub.ReportMount, request)
        return ReportReceipt(reply.next_report_seconds, reply.etag, quota_from_wire(reply.quota))

    async def end(self, filesystem_id: str, mount_id: str) -> None:
        """Tells that a filesystem is not mounted any more."""
        request = build(mount_pb2.EndMountRequest, filesystem_id=filesystem_id, mount_id=mount_id)
        await self._session.call(self._stub.EndMount, request)

    def list(self, **chosen: Unpack[MountFilter]) -> AsyncIterator[MountReport]:
        """The mounts that the caller may see and that are not silent; fetches page after page."""
        return every(lambda size, token: self.page(size, token, **chosen))

    async def page(self, size: int = 0, token: str = "", **chosen: Unpack[MountFilter]) -> Page[MountReport]:
        """One page of the list: at most `size` mounts (0: as many as the server likes) from the token on."""
        name, owner = chosen.get("name", ""), chosen.get("owner", "")
        request = build(
            mount_pb2.ListMountsRequest,
            filesystem=filesystem_key(name, owner) if name or owner else None,
            node=chosen.get("node", ""),
            page_size=size,
            page_token=token,
        )
        reply = await self._session.call(self._stub.ListMounts, request)
        return Page([report_from_wire(each) for each in reply.mounts], reply.next_page_token)

    async def set_cache(
        self, name: str, cache: FilesystemCache, *, owner: str = "", request_id: str = ""
    ) -> FilesystemCache:
        """Says how those who mount a filesystem keep what they have read, in place of what was said before."""
        request = build(
            mount_pb2.SetFilesystemCacheRequest, filesystem=filesystem_key(name, owner), cache=cache_to_wire(cache)
        )
        reply = await self._session.change(self._stub.SetFilesystemCache, request, request_id)
        return cache_from_wire(reply.cache)

    async def get_cache(self, name: str, *, owner: str = "") -> FilesystemCache:
        """What was said about the cache of a filesystem. Raises FilesystemCacheNotFound."""
        request = build(mount_pb2.GetFilesystemCacheRequest, filesystem=filesystem_key(name, owner))
        return cache_from_wire((await self._session.call(self._stub.GetFilesystemCache, request)).cache)

    async def delete_cache(self, name: str, *, owner: str = "", request_id: str = "") -> None:
        """Leaves it to those who mount."""
        request = build(mount_pb2.DeleteFilesystemCacheRequest, filesystem=filesystem_key(name, owner))
        await self._session.change(self._stub.DeleteFilesystemCache, request, request_id)
