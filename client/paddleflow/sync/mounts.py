# Written by tools/generate_sync.py from paddleflow/aio/mounts.py; change it there.
"""Where filesystems are mounted, and how what is read there is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Unpack

import grpc

from paddleflow.fs.v1 import mount_pb2, mount_pb2_grpc
from paddleflow.models.mounts import FilesystemCache, MountFilter, MountReport, ReportReceipt
from paddleflow.models.pages import Page
from paddleflow.sync.pages import every
from paddleflow.sync.session import Session
from paddleflow.wire.base import build
from paddleflow.wire.filesystems import filesystem_key, quota_from_wire
from paddleflow.wire.mounts import cache_from_wire, cache_to_wire, report_from_wire, report_to_wire


class FilesystemMounts:
    """Mounts, as those tell who mount, and caches, as owners say. A name without an owner is the caller's own."""

    def __init__(self, session: Session, channel: grpc.Channel) -> None:
        self._session = session
        self._stub: mount_pb2_grpc.MountServiceStub = mount_pb2_grpc.MountServiceStub(channel)

    def report(self, name: str, report: MountReport, *, owner: str = "") -> ReportReceipt:
        """Tells that a filesystem is mounted: at the beginning, and as often as the answer says."""
        request = build(
            mount_pb2.ReportMountRequest, filesystem=filesystem_key(name, owner), mount=report_to_wire(report)
        )
        reply = self._session.call(self._stub.ReportMount, request)
        return ReportReceipt(reply.next_report_seconds, reply.etag, quota_from_wire(reply.quota))

    def end(self, filesystem_id: str, mount_id: str) -> None:
        """Tells that a filesystem is not mounted any more."""
        request = build(mount_pb2.EndMountRequest, filesystem_id=filesystem_id, mount_id=mount_id)
        self._session.call(self._stub.EndMount, request)

    def list(self, **chosen: Unpack[MountFilter]) -> Iterator[MountReport]:
        """The mounts that the caller may see and that are not silent; fetches page after page."""
        return every(lambda size, token: self.page(size, token, **chosen))

    def page(self, size: int = 0, token: str = "", **chosen: Unpack[MountFilter]) -> Page[MountReport]:
        """One page of the list: at most `size` mounts (0: as many as the server likes) from the token on."""
        name, owner = chosen.get("name", ""), chosen.get("owner", "")
        request = build(
            mount_pb2.ListMountsRequest,
            filesystem=filesystem_key(name, owner) if name or owner else None,
            node=chosen.get("node", ""),
            page_size=size,
            page_token=token,
        )
        reply = self._session.call(self._stub.ListMounts, request)
        return Page([report_from_wire(each) for each in reply.mounts], reply.next_page_token)

    def set_cache(self, name: str, cache: FilesystemCache, *, owner: str = "", request_id: str = "") -> FilesystemCache:
        """Says how those who mount a filesystem keep what they have read, in place of what was said before."""
        request = build(
            mount_pb2.SetFilesystemCacheRequest, filesystem=filesystem_key(name, owner), cache=cache_to_wire(cache)
        )
        reply = self._session.change(self._stub.SetFilesystemCache, request, request_id)
        return cache_from_wire(reply.cache)

    def get_cache(self, name: str, *, owner: str = "") -> FilesystemCache:
        """What was said about the cache of a filesystem. Raises FilesystemCacheNotFound."""
        request = build(mount_pb2.GetFilesystemCacheRequest, filesystem=filesystem_key(name, owner))
        return cache_from_wire((self._session.call(self._stub.GetFilesystemCache, request)).cache)

    def delete_cache(self, name: str, *, owner: str = "", request_id: str = "") -> None:
        """Leaves it to those who mount."""
        request = build(mount_pb2.DeleteFilesystemCacheRequest, filesystem=filesystem_key(name, owner))
        self._session.change(self._stub.DeleteFilesystemCache, request, request_id)
