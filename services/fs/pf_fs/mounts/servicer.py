"""MountService on the wire."""

from __future__ import annotations

from paddleflow.fs.v1 import mount_pb2 as pb
from paddleflow.fs.v1 import mount_pb2_grpc
from pf_fs.convert import cache_message, key_of, quota_message, target_of
from pf_fs.mounts import convert
from pf_fs.mounts.domain import REPORT_SECONDS
from pf_fs.mounts.service import Caches, Reports
from pf_fs.store import LOCK
from pf_kit.call import current_call
from pf_kit.lists import Lists
from pf_kit.mutation import Mutations
from pf_kit.unit import Change, Database


class MountServicer(mount_pb2_grpc.MountServiceServicer):
    """Knows where filesystems are mounted."""

    def __init__(
        self, *, database: Database, mutations: Mutations, lists: Lists, reports: Reports, caches: Caches
    ) -> None:
        self._database = database
        self._mutations = mutations
        self._lists = lists
        self._reports = reports
        self._caches = caches

    async def ReportMount(self, request: pb.ReportMountRequest, _context: object) -> pb.ReportMountResponse:
        caller, key, told = current_call().principal, key_of(request.filesystem), convert.told_of(request.mount)
        # Without the lock of filesystems, and on no record: reports come all the time.
        async with self._database.change() as change:
            filesystem = await self._reports.keep(change, caller, key, told)
        quota = quota_message(filesystem.quota)
        return pb.ReportMountResponse(next_report_seconds=REPORT_SECONDS, etag=filesystem.etag, quota=quota)

    async def EndMount(self, request: pb.EndMountRequest, _context: object) -> pb.EndMountResponse:
        filesystem_id, mount_id = convert.ended_of(request)
        async with self._database.change() as change:
            await self._reports.end(change, current_call().principal, filesystem_id, mount_id)
        return pb.EndMountResponse()

    async def ListMounts(self, request: pb.ListMountsRequest, _context: object) -> pb.ListMountsResponse:
        view, caller = self._database.newest, current_call().principal
        chosen = convert.mount_filter(caller, request)
        page = await self._lists.page(
            request,
            lambda after, limit: self._reports.page(view, caller, chosen, after, limit),
            lambda report: str(report.place),
        )
        return pb.ListMountsResponse(mounts=map(convert.mount_message, page.things), next_page_token=page.next_token)

    async def SetFilesystemCache(
        self, request: pb.SetFilesystemCacheRequest, _context: object
    ) -> pb.SetFilesystemCacheResponse:
        caller, cache = current_call().principal, convert.cache_of(request.cache)
        target = target_of(caller, request.filesystem)

        async def work(change: Change) -> pb.SetFilesystemCacheResponse:
            await self._caches.set(change, caller, target, cache)
            return pb.SetFilesystemCacheResponse(cache=cache_message(target, cache))

        return await self._mutations.run(
            request, pb.SetFilesystemCacheResponse, locks=(LOCK,), subject=f"filesystem/{target}", work=work
        )

    async def GetFilesystemCache(
        self, request: pb.GetFilesystemCacheRequest, _context: object
    ) -> pb.GetFilesystemCacheResponse:
        key, caller = key_of(request.filesystem), current_call().principal
        filesystem, cache = await self._caches.get(self._database.newest, caller, key)
        return pb.GetFilesystemCacheResponse(cache=cache_message(filesystem.id, cache))

    async def DeleteFilesystemCache(
        self, request: pb.DeleteFilesystemCacheRequest, _context: object
    ) -> pb.DeleteFilesystemCacheResponse:
        caller = current_call().principal
        target = target_of(caller, request.filesystem)

        async def work(change: Change) -> pb.DeleteFilesystemCacheResponse:
            await self._caches.delete(change, caller, target)
            return pb.DeleteFilesystemCacheResponse()

        return await self._mutations.run(
            request, pb.DeleteFilesystemCacheResponse, locks=(LOCK,), subject=f"filesystem/{target}", work=work
        )
