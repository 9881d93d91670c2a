"""FilesystemService on the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator

from paddleflow.fs.v1 import fs_pb2, fs_pb2_grpc
from pf_fs.convert import (
    access_of,
    draft_of,
    edit_of,
    filesystem_filter,
    filesystem_message,
    given_user,
    grant_filter,
    grant_message,
    key_of,
    mount_message,
    target_of,
    updated_of,
)
from pf_fs.domain import GrantKey, id_of
from pf_fs.paths import sub_path, sub_path_violations
from pf_fs.service import Filesystems, Grants, Mounts, Updates
from pf_fs.store import LOCK, FilesystemStore
from pf_fs.watching import Teller
from pf_kit.call import current_call
from pf_kit.fields import require
from pf_kit.lists import Lists
from pf_kit.mutation import Mutations
from pf_kit.unit import Change, Database
from pf_kit.watch import Watches


class FilesystemServicer(fs_pb2_grpc.FilesystemServiceServicer):
    """Keeps filesystems."""

    def __init__(
        self,
        *,
        database: Database,
        mutations: Mutations,
        lists: Lists,
        watches: Watches,
        store: FilesystemStore,
        filesystems: Filesystems,
        updates: Updates,
        grants: Grants,
        mounts: Mounts,
    ) -> None:
        self._database = database
        self._mutations = mutations
        self._lists = lists
        self._watches = watches
        self._store = store
        self._filesystems = filesystems
        self._updates = updates
        self._grants = grants
        self._mounts = mounts

    async def CreateFilesystem(
        self, request: fs_pb2.CreateFilesystemRequest, _context: object
    ) -> fs_pb2.CreateFilesystemResponse:
        caller = current_call().principal
        draft = draft_of(caller, request.filesystem)
        judged = await self._filesystems.judge(caller, draft)

        async def work(change: Change) -> fs_pb2.CreateFilesystemResponse:
            made = await self._filesystems.create(change, judged)
            return fs_pb2.CreateFilesystemResponse(filesystem=filesystem_message(made))

        subject = f"filesystem/{id_of(draft.owner, draft.name)}"
        return await self._mutations.run(
            request, fs_pb2.CreateFilesystemResponse, locks=(LOCK,), subject=subject, work=work
        )

    async def GetFilesystem(
        self, request: fs_pb2.GetFilesystemRequest, _context: object
    ) -> fs_pb2.GetFilesystemResponse:
        key, caller = key_of(request.filesystem), current_call().principal
        found = await self._filesystems.get(self._database.newest, caller, key)
        return fs_pb2.GetFilesystemResponse(filesystem=filesystem_message(found))

    async def ListFilesystems(
        self, request: fs_pb2.ListFilesystemsRequest, _context: object
    ) -> fs_pb2.ListFilesystemsResponse:
        view, caller, chosen = self._database.newest, current_call().principal, filesystem_filter(request)
        page = await self._lists.page(
            request,
            lambda after, limit: self._filesystems.page(view, caller, chosen, after, limit),
            lambda filesystem: filesystem.id,
        )
        return fs_pb2.ListFilesystemsResponse(
            filesystems=map(filesystem_message, page.things), next_page_token=page.next_token
        )

    async def UpdateFilesystem(
        self, request: fs_pb2.UpdateFilesystemRequest, _context: object
    ) -> fs_pb2.UpdateFilesystemResponse:
        caller, given = current_call().principal, request.filesystem
        target, edit = updated_of(caller, given), edit_of(given, request.update_mask.paths)
        judged = await self._updates.judge(self._database.newest, caller, target, given.etag, edit)

        async def work(change: Change) -> fs_pb2.UpdateFilesystemResponse:
            made = await self._updates.apply(change, caller, judged)
            return fs_pb2.UpdateFilesystemResponse(filesystem=filesystem_message(made))

        return await self._mutations.run(
            request, fs_pb2.UpdateFilesystemResponse, locks=(LOCK,), subject=f"filesystem/{target}", work=work
        )

    async def DeleteFilesystem(
        self, request: fs_pb2.DeleteFilesystemRequest, _context: object
    ) -> fs_pb2.DeleteFilesystemResponse:
        caller = current_call().principal
        target = target_of(caller, request.filesystem)
        uses = await self._filesystems.uses(self._database.newest, caller, target)

        async def work(change: Change) -> fs_pb2.DeleteFilesystemResponse:
            await self._filesystems.delete(change, caller, target, request.etag, uses)
            return fs_pb2.DeleteFilesystemResponse()

        return await self._mutations.run(
            request, fs_pb2.DeleteFilesystemResponse, locks=(LOCK,), subject=f"filesystem/{target}", work=work
        )

    async def GrantFilesystem(
        self, request: fs_pb2.GrantFilesystemRequest, _context: object
    ) -> fs_pb2.GrantFilesystemResponse:
        caller, access = current_call().principal, access_of(request.access)
        key = GrantKey(target_of(caller, request.filesystem), given_user(request.user))
        known = await self._grants.is_known(key.user)

        async def work(change: Change) -> fs_pb2.GrantFilesystemResponse:
            grant = await self._grants.give(change, caller, key, access, known=known)
            return fs_pb2.GrantFilesystemResponse(grant=grant_message(grant))

        return await self._mutations.run(
            request, fs_pb2.GrantFilesystemResponse, locks=(LOCK,), subject=f"filesystem-grant/{key}", work=work
        )

    async def RevokeFilesystem(
        self, request: fs_pb2.RevokeFilesystemRequest, _context: object
    ) -> fs_pb2.RevokeFilesystemResponse:
        caller = current_call().principal
        key = GrantKey(target_of(caller, request.filesystem), given_user(request.user))

        async def work(change: Change) -> fs_pb2.RevokeFilesystemResponse:
            await self._grants.take(change, caller, key)
            return fs_pb2.RevokeFilesystemResponse()

        return await self._mutations.run(
            request, fs_pb2.RevokeFilesystemResponse, locks=(LOCK,), subject=f"filesystem-grant/{key}", work=work
        )

    async def ListFilesystemGrants(
        self, request: fs_pb2.ListFilesystemGrantsRequest, _context: object
    ) -> fs_pb2.ListFilesystemGrantsResponse:
        view, caller = self._database.newest, current_call().principal
        chosen = grant_filter(caller, request)
        page = await self._lists.page(
            request,
            lambda after, limit: self._grants.page(view, caller, chosen, after, limit),
            lambda grant: str(grant.key),
        )
        return fs_pb2.ListFilesystemGrantsResponse(
            grants=map(grant_message, page.things), next_page_token=page.next_token
        )

    async def DescribeMount(
        self, request: fs_pb2.DescribeMountRequest, _context: object
    ) -> fs_pb2.DescribeMountResponse:
        key, view = key_of(request.filesystem), self._database.newest
        require(sub_path_violations("sub_path", request.sub_path))
        mount = await self._mounts.describe(
            view, current_call().principal, key, sub_path(request.sub_path), read_only=request.read_only
        )
        return fs_pb2.DescribeMountResponse(mount=mount_message(mount))

    async def WatchFilesystems(
        self, request: fs_pb2.WatchFilesystemsRequest, _context: object
    ) -> AsyncIterator[fs_pb2.WatchFilesystemsResponse]:
        teller = Teller(store=self._store, caller=current_call().principal)
        async for page in self._watches.watch(request.resume_token, existing=teller.existing, changes=teller.changes):
            yield fs_pb2.WatchFilesystemsResponse(
                events=page.messages, resume_token=page.resume_token, bookmark=page.bookmark
            )
