"""Documents in filesystems, by FilesystemService and FileService."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpc import aio

from paddleflow.fs.v1 import file_pb2, fs_pb2
from paddleflow.fs.v1.file_pb2_grpc import FileServiceStub
from paddleflow.fs.v1.fs_pb2_grpc import FilesystemServiceStub
from paddleflow.problems import DocumentUnreadable
from pf_kit.fields import shown
from pf_pipeline.peers_grpc.calls import Metadata, behalf, call
from pf_pipeline.peers_grpc.files import ANSWER_SECONDS, MOST_READ

if TYPE_CHECKING:
    from paddleflow.fs.v1.file_pb2_grpc import FileServiceAsyncStub
    from paddleflow.fs.v1.fs_pb2_grpc import FilesystemServiceAsyncStub


class RemoteDocuments:
    """Fulfils `Filesystems` of pipelines."""

    def __init__(self, channel: aio.Channel, metadata: Metadata) -> None:
        self._filesystems: FilesystemServiceAsyncStub = FilesystemServiceStub(channel)
        self._files: FileServiceAsyncStub = FileServiceStub(channel)
        self._metadata = metadata

    async def find(self, user: str, name: str) -> str:
        owner, _, bare = name.rpartition("/")
        request = fs_pb2.GetFilesystemRequest(filesystem=fs_pb2.FilesystemKey(owner=owner, name=bare))
        metadata = behalf(self._metadata, user)
        reply = await call(
            self._filesystems.GetFilesystem, request, fs_pb2.GetFilesystemResponse, metadata, ANSWER_SECONDS
        )
        return reply.filesystem.id

    async def text(self, user: str, filesystem_id: str, path: str, longest: int) -> str:
        data, size = b"", 1
        while len(data) < size:
            piece = await self._piece(user, filesystem_id, path, len(data))
            if piece.HasField("fault"):
                raise DocumentUnreadable(f"{shown(path)} cannot be read: {piece.fault.message}")
            if piece.size > longest:
                raise DocumentUnreadable(f"{shown(path)} has {piece.size} bytes; a document has at most {longest}")
            if (data and piece.size != size) or (piece.size > len(data) and not piece.data):
                raise DocumentUnreadable(f"{shown(path)} was changed while it was read; try again")
            data, size = data + piece.data, piece.size
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise DocumentUnreadable(f"{shown(path)} is no text in UTF-8: see byte {error.start}") from None

    async def _piece(self, user: str, filesystem_id: str, path: str, offset: int) -> file_pb2.FilePiece:
        request = file_pb2.ReadFilesRequest(
            filesystem=fs_pb2.FilesystemKey(id=filesystem_id),
            ranges=[file_pb2.FileRange(path=path.removeprefix("./"), offset=offset, length=MOST_READ)],
        )
        metadata = behalf(self._metadata, user)
        reply = await call(self._files.ReadFiles, request, file_pb2.ReadFilesResponse, metadata, ANSWER_SECONDS)
        return reply.pieces[0]
