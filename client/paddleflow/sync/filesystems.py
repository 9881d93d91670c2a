# Written by tools/generate_sync.py from paddleflow/aio/filesystems.py; change it there.
"""Filesystems, and with whom they are shared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Unpack

import grpc

from paddleflow.fs.v1 import fs_pb2, fs_pb2_grpc
from paddleflow.models.filesystems import (
    Filesystem,
    FilesystemAccess,
    FilesystemFilter,
    FilesystemGrant,
    FilesystemGrantFilter,
    FilesystemQuotaChanges,
)
from paddleflow.models.mounts import MountDescription
from paddleflow.models.pages import Page
from paddleflow.models.watches import Change, WatchItem
from paddleflow.sync.pages import every
from paddleflow.sync.session import Session
from paddleflow.sync.watch import watch
from paddleflow.wire.audit import CHANGE_KIND
from paddleflow.wire.base import build
from paddleflow.wire.filesystems import (
    ACCESS,
    filesystem_changes_to_wire,
    filesystem_from_wire,
    filesystem_grant_from_wire,
    filesystem_key,
    filesystem_to_wire,
)
from paddleflow.wire.mounts import mount_from_wire

ASKING = 29.0
"""Seconds for calls in which the service asks servers far away: as long as it lets any call last."""


class Filesystems:
    """Names for files that lie elsewhere. A name without an owner is the caller's own filesystem."""

    def __init__(self, session: Session, channel: grpc.Channel) -> None:
        self._session = session
        self._stub: fs_pb2_grpc.FilesystemServiceStub = fs_pb2_grpc.FilesystemServiceStub(channel)

    def create(self, filesystem: Filesystem, *, request_id: str = "") -> Filesystem:
        """Adds a filesystem; returns it as the server completed it."""
        request = build(fs_pb2.CreateFilesystemRequest, filesystem=filesystem_to_wire(filesystem))
        reply = self._session.change(self._stub.CreateFilesystem, request, request_id, patience=ASKING)
        return filesystem_from_wire(reply.filesystem)

    def get(self, name: str, *, owner: str = "") -> Filesystem:
        """The filesystem; without an owner the caller's own, or the only one of that name that is shared with it."""
        request = build(fs_pb2.GetFilesystemRequest, filesystem=filesystem_key(name, owner))
        reply = self._session.call(self._stub.GetFilesystem, request)
        return filesystem_from_wire(reply.filesystem)

    def list(self, **chosen: Unpack[FilesystemFilter]) -> Iterator[Filesystem]:
        """The filesystems that the caller may see, by owner and name; fetches page after page."""
        return every(lambda size, token: self.page(size, token, **chosen))

    def page(self, size: int = 0, token: str = "", **chosen: Unpack[FilesystemFilter]) -> Page[Filesystem]:
        """One page of the list: at most `size` filesystems (0: as many as the server likes) from the token on."""
        request = build(
            fs_pb2.ListFilesystemsRequest,
            owner=chosen.get("owner", ""),
            name_prefix=chosen.get("name_prefix", ""),
            page_size=size,
            page_token=token,
        )
        reply = self._session.call(self._stub.ListFilesystems, request)
        return Page([filesystem_from_wire(each) for each in reply.filesystems], reply.next_page_token)

    def update(
        self,
        name: str,
        properties: Mapping[str, str | None] | None = None,
        *,
        quota: FilesystemQuotaChanges | None = None,
        owner: str = "",
        etag: str = "",
        request_id: str = "",
    ) -> Filesystem:
        """Changes these properties, secrets among them, and the quota; None takes a property away. Others stay."""
        changed, mask = filesystem_changes_to_wire(name, owner, etag, properties or {}, quota or {})
        request = build(fs_pb2.UpdateFilesystemRequest, filesystem=changed, update_mask=mask)
        reply = self._session.change(self._stub.UpdateFilesystem, request, request_id, patience=ASKING)
        return filesystem_from_wire(reply.filesystem)

    def describe_mount(
        self, name: str, *, owner: str = "", sub_path: str = "", read_only: bool = False
    ) -> MountDescription:
        """How to mount a filesystem, or a folder in it, once. It may hold secrets: keep it in memory."""
        request = build(
            fs_pb2.DescribeMountRequest,
            filesystem=filesystem_key(name, owner),
            sub_path=sub_path,
            read_only=read_only,
        )
        reply = self._session.call(self._stub.DescribeMount, request)
        return mount_from_wire(reply.mount)

    def delete(self, name: str, *, owner: str = "", etag: str = "", request_id: str = "") -> None:
        """Removes a filesystem and the grants on it; the files stay."""
        request = build(fs_pb2.DeleteFilesystemRequest, filesystem=filesystem_key(name, owner), etag=etag)
        self._session.change(self._stub.DeleteFilesystem, request, request_id)

    def grant(
        self, name: str, user: str, access: FilesystemAccess, *, owner: str = "", request_id: str = ""
    ) -> FilesystemGrant:
        """Shares a filesystem with a user, in place of what it was allowed before."""
        request = build(
            fs_pb2.GrantFilesystemRequest,
            filesystem=filesystem_key(name, owner),
            user=user,
            access=ACCESS.number(access),
        )
        reply = self._session.change(self._stub.GrantFilesystem, request, request_id)
        return filesystem_grant_from_wire(reply.grant)

    def revoke(self, name: str, user: str, *, owner: str = "", request_id: str = "") -> None:
        """Takes a grant back: no new task of the user gets at the files."""
        request = build(fs_pb2.RevokeFilesystemRequest, filesystem=filesystem_key(name, owner), user=user)
        self._session.change(self._stub.RevokeFilesystem, request, request_id)

    def grants(self, **chosen: Unpack[FilesystemGrantFilter]) -> Iterator[FilesystemGrant]:
        """The grants on the caller's filesystems and those to the caller; fetches page after page."""
        return every(lambda size, token: self.grant_page(size, token, **chosen))

    def grant_page(
        self, size: int = 0, token: str = "", **chosen: Unpack[FilesystemGrantFilter]
    ) -> Page[FilesystemGrant]:
        """One page of the grants: at most `size` (0: as many as the server likes) from the token on."""
        name, owner = chosen.get("name", ""), chosen.get("owner", "")
        request = build(
            fs_pb2.ListFilesystemGrantsRequest,
            filesystem=filesystem_key(name, owner) if name or owner else None,
            user=chosen.get("user", ""),
            page_size=size,
            page_token=token,
        )
        reply = self._session.call(self._stub.ListFilesystemGrants, request)
        return Page([filesystem_grant_from_wire(each) for each in reply.grants], reply.next_page_token)

    def watch(self, *, resume_token: str = "") -> Iterator[WatchItem[Filesystem]]:
        """The filesystems as they are, then every change, for ever; resumes by itself when the stream breaks."""
        request = build(fs_pb2.WatchFilesystemsRequest, resume_token=resume_token)
        return watch(self._session, self._stub.WatchFilesystems, request, _changes)


def _changes(message: fs_pb2.WatchFilesystemsResponse) -> Sequence[Change[Filesystem]]:
    return [Change(CHANGE_KIND.member(event.kind), filesystem_from_wire(event.filesystem)) for event in message.events]
