"""Filesystems, by FilesystemService."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from grpc import aio

from paddleflow.fs.v1 import fs_pb2
from paddleflow.fs.v1.fs_pb2_grpc import FilesystemServiceStub
from pf_pipeline.peers_grpc.calls import Metadata, behalf, call

if TYPE_CHECKING:
    from paddleflow.fs.v1.fs_pb2_grpc import FilesystemServiceAsyncStub

ANSWER_SECONDS = 5.0
"""How long the service may take."""


class RemoteFilesystems:
    """Fulfils `Filesystems`."""

    def __init__(self, channel: aio.Channel, metadata: Metadata) -> None:
        self._filesystems: FilesystemServiceAsyncStub = FilesystemServiceStub(channel)
        self._metadata = metadata

    async def ids(self, owner: str, names: Sequence[str]) -> Mapping[str, str]:
        found = await asyncio.gather(*(self._id(owner, name) for name in names))
        return dict(zip(names, found, strict=True))

    async def require(self, owner: str, id_: str, *, write: bool) -> None:
        request = fs_pb2.DescribeMountRequest(filesystem=fs_pb2.FilesystemKey(id=id_), read_only=not write)
        metadata = behalf(self._metadata, owner)
        await call(self._filesystems.DescribeMount, request, fs_pb2.DescribeMountResponse, metadata, ANSWER_SECONDS)

    async def _id(self, owner: str, name: str) -> str:
        whose, _, bare = name.rpartition("/")
        request = fs_pb2.GetFilesystemRequest(filesystem=fs_pb2.FilesystemKey(owner=whose, name=bare))
        metadata = behalf(self._metadata, owner)
        reply = await call(
            self._filesystems.GetFilesystem, request, fs_pb2.GetFilesystemResponse, metadata, ANSWER_SECONDS
        )
        return reply.filesystem.id
