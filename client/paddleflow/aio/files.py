"""Files of filesystems, without a mount."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Sequence

from grpc import aio

from paddleflow.aio.filesystems import ASKING
from paddleflow.aio.pages import every
from paddleflow.aio.session import Session
from paddleflow.fs.v1 import file_manager_pb2 as pb
from paddleflow.fs.v1 import file_manager_pb2_grpc
from paddleflow.models.files import FileInfo, FilePart, FileRemoval, FileUpload
from paddleflow.models.pages import Page
from paddleflow.problems import FileChanged
from paddleflow.wire.base import build
from paddleflow.wire.files import file_from_wire, part_from_wire, part_to_wire
from paddleflow.wire.filesystems import filesystem_key

MOST_BYTES = 2 * 1024 * 1024
"""That one call carries."""


class Files:
    """Looks at files, and changes them, wherever they lie.

    `name` is that of the filesystem; paths are relative to it.
    """

    def __init__(self, session: Session, channel: aio.Channel) -> None:
        self._session = session
        self._stub: file_manager_pb2_grpc.FileManagerServiceAsyncStub = file_manager_pb2_grpc.FileManagerServiceStub(
            channel
        )

    async def stat(self, name: str, path: str, *, owner: str = "") -> FileInfo:
        """What lies at a path. Raises FileNotFound."""
        request = build(pb.StatFileRequest, filesystem=filesystem_key(name, owner), path=path)
        return file_from_wire((await self._session.call(self._stub.StatFile, request, patience=ASKING)).file)

    def list(
        self, name: str, path: str = "", *, owner: str = "", recursive: bool = False, pattern: str = ""
    ) -> AsyncIterator[FileInfo]:
        """What is in a folder, or below it; fetches page after page."""
        return every(
            lambda size, token: self.page(name, path, size, token, owner=owner, recursive=recursive, pattern=pattern)
        )

    async def page(
        self,
        name: str,
        path: str,
        size: int = 0,
        token: str = "",
        *,
        owner: str = "",
        recursive: bool = False,
        pattern: str = "",
    ) -> Page[FileInfo]:
        """One page of the list: at most `size` (0: as many as the server likes) from the token on."""
        request = build(
            pb.ListFilesRequest,
            filesystem=filesystem_key(name, owner),
            path=path,
            recursive=recursive,
            pattern=pattern,
            page_size=size,
            page_token=token,
        )
        reply = await self._session.call(self._stub.ListFiles, request, patience=ASKING)
        return Page([file_from_wire(each) for each in reply.files], reply.next_page_token)

    async def read(
        self, name: str, path: str, offset: int = 0, length: int = MOST_BYTES, *, owner: str = "", version: str = ""
    ) -> bytes:
        """A piece of a file, at most 2 MiB; fewer bytes at its end. Raises FileChanged if it has another version."""
        request = build(
            pb.ReadFileRequest,
            filesystem=filesystem_key(name, owner),
            path=path,
            offset=offset,
            length=length,
            version=version,
        )
        reply = await self._session.call(self._stub.ReadFile, request, patience=ASKING)
        if zlib.crc32(reply.data) != reply.crc32:
            raise FileChanged(f"a piece of {path!r} was changed on the way; try again")
        return bytes(reply.data)

    async def make_folder(self, name: str, path: str, *, owner: str = "") -> None:
        """Makes a folder and those above it that are missing."""
        request = build(pb.MakeFolderRequest, filesystem=filesystem_key(name, owner), path=path)
        await self._session.call(self._stub.MakeFolder, request, patience=ASKING)

    async def remove(self, name: str, path: str, *, owner: str = "", recursive: bool = False) -> FileRemoval:
        """Removes a file or a folder, as much as one call does: repeat it while it says that more is left."""
        request = build(pb.RemoveFileRequest, filesystem=filesystem_key(name, owner), path=path, recursive=recursive)
        reply = await self._session.call(self._stub.RemoveFile, request, patience=ASKING)
        return FileRemoval(reply.removed, reply.pending)

    async def rename(self, name: str, path: str, target: str, *, owner: str = "", replace: bool = False) -> None:
        """Gives a file another path in the same filesystem."""
        request = build(
            pb.RenameFileRequest, filesystem=filesystem_key(name, owner), path=path, target=target, replace=replace
        )
        await self._session.call(self._stub.RenameFile, request, patience=ASKING)

    async def copy(self, name: str, path: str, target: str, *, owner: str = "", replace: bool = False) -> FileInfo:
        """Copies a file inside of a filesystem, where the place does that by itself."""
        request = build(
            pb.CopyFileRequest, filesystem=filesystem_key(name, owner), path=path, target=target, replace=replace
        )
        return file_from_wire((await self._session.call(self._stub.CopyFile, request, patience=ASKING)).file)

    async def write(self, name: str, path: str, data: bytes, *, owner: str = "", replace: bool = False) -> FileInfo:
        """Writes a file of at most 2 MiB at once. Raises FileExists."""
        request = build(
            pb.WriteFileRequest,
            filesystem=filesystem_key(name, owner),
            path=path,
            data=data,
            crc32=zlib.crc32(data),
            replace=replace,
        )
        return file_from_wire((await self._session.call(self._stub.WriteFile, request, patience=ASKING)).file)

    async def touch(self, name: str, path: str, *, owner: str = "") -> FileInfo:
        """Makes an empty file, or says of one that is there that it changed now."""
        request = build(pb.TouchFileRequest, filesystem=filesystem_key(name, owner), path=path)
        return file_from_wire((await self._session.call(self._stub.TouchFile, request, patience=ASKING)).file)

    async def begin_upload(self, name: str, path: str, size: int, *, owner: str = "") -> FileUpload:
        """Begins to upload a large file in parts."""
        request = build(pb.BeginUploadRequest, filesystem=filesystem_key(name, owner), path=path, size=size)
        found = (await self._session.call(self._stub.BeginUpload, request, patience=ASKING)).upload
        return FileUpload(found.id, found.part_size, found.most_parts)

    async def send_part(
        self, name: str, path: str, upload_id: str, number: int, body: bytes, *, owner: str = ""
    ) -> FilePart:
        """Sends a part, piece by piece; from its beginning again if the service was started anew meanwhile."""
        offset = 0
        while True:
            piece = body[offset : offset + MOST_BYTES]
            request = build(
                pb.SendChunkRequest,
                filesystem=filesystem_key(name, owner),
                path=path,
                upload_id=upload_id,
                number=number,
                offset=offset,
                data=piece,
                crc32=zlib.crc32(piece),
                last=offset + len(piece) == len(body),
            )
            reply = await self._session.call(self._stub.SendChunk, request, patience=ASKING)
            if reply.HasField("part"):
                return part_from_wire(reply.part)
            offset = reply.next_offset

    async def finish_upload(
        self,
        name: str,
        path: str,
        upload_id: str,
        parts: Sequence[FilePart],
        *,
        owner: str = "",
        replace: bool = False,
    ) -> FileInfo:
        """Lets the file appear, whole."""
        request = build(
            pb.FinishUploadRequest,
            filesystem=filesystem_key(name, owner),
            path=path,
            upload_id=upload_id,
            parts=[part_to_wire(part) for part in parts],
            replace=replace,
        )
        return file_from_wire((await self._session.call(self._stub.FinishUpload, request, patience=ASKING)).file)

    async def drop_upload(self, name: str, path: str, upload_id: str, *, owner: str = "") -> None:
        """Forgets an upload and its parts."""
        request = build(pb.DropUploadRequest, filesystem=filesystem_key(name, owner), path=path, upload_id=upload_id)
        await self._session.call(self._stub.DropUpload, request, patience=ASKING)
