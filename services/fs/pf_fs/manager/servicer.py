"""FileManagerService on the wire."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from paddleflow.fs.v1 import file_manager_pb2 as pb
from paddleflow.fs.v1 import file_manager_pb2_grpc, fs_pb2
from pf_backends.port import Backend
from pf_fs.convert import key_of
from pf_fs.manager import acting, convert
from pf_fs.manager.chunks import Chunks, PartKey
from pf_fs.manager.domain import REMOVAL_SECONDS
from pf_fs.manager.places import OpenPlaces
from pf_fs.service import Mount, Mounts
from pf_kit.call import current_call
from pf_kit.mutation import audit_entry
from pf_kit.page import PageTokens, list_scope, page_size
from pf_kit.unit import Database

T = TypeVar("T")


class FileManagerServicer(file_manager_pb2_grpc.FileManagerServiceServicer):
    """Lets users look at files, and change them."""

    def __init__(
        self, *, database: Database, tokens: PageTokens, mounts: Mounts, places: OpenPlaces, chunks: Chunks
    ) -> None:
        self._database = database
        self._tokens = tokens
        self._mounts = mounts
        self._places = places
        self._chunks = chunks

    async def StatFile(self, request: pb.StatFileRequest, _context: object) -> pb.StatFileResponse:
        path = convert.path_of("path", request.path)
        found = await self._looked(request.filesystem, path, lambda backend: acting.look(backend, path))
        return pb.StatFileResponse(file=convert.file_message(found))

    async def ListFiles(self, request: pb.ListFilesRequest, _context: object) -> pb.ListFilesResponse:
        path, matches = convert.path_of("path", request.path), convert.matcher_of(request.pattern)
        scope, limit = list_scope(request), page_size(request.page_size)
        rest = self._tokens.decode(request.page_token, scope)
        ask = partial(acting.listed, path=path, rest=rest, limit=limit, recursive=request.recursive)
        page = await self._looked(request.filesystem, path, ask)
        above = f"{path}/" if path else ""
        found = [each for each in page.entries if matches(each.path.removeprefix(above))]
        return pb.ListFilesResponse(
            files=map(convert.file_message, found), next_page_token=self._tokens.encode(page.rest, scope)
        )

    async def ReadFile(self, request: pb.ReadFileRequest, _context: object) -> pb.ReadFileResponse:
        path, offset, length, version = convert.read_of(request)
        ask = partial(acting.read, path=path, offset=offset, length=length, version=version)
        data = await self._looked(request.filesystem, path, ask)
        return pb.ReadFileResponse(data=data, crc32=zlib.crc32(data))

    async def MakeFolder(self, request: pb.MakeFolderRequest, _context: object) -> pb.MakeFolderResponse:
        path = convert.path_of("path", request.path)
        await self._changed(request.filesystem, partial(acting.make_folder, path=path), path)
        return pb.MakeFolderResponse()

    async def RemoveFile(self, request: pb.RemoveFileRequest, _context: object) -> pb.RemoveFileResponse:
        path = convert.inner_path_of("path", request.path)
        until = time.monotonic() + REMOVAL_SECONDS
        ask = partial(acting.remove, path=path, recursive=request.recursive, spent=lambda: time.monotonic() > until)
        done = await self._changed(request.filesystem, ask, path)
        return pb.RemoveFileResponse(pending=done.pending, removed=done.removed)

    async def RenameFile(self, request: pb.RenameFileRequest, _context: object) -> pb.RenameFileResponse:
        path, target = convert.inner_path_of("path", request.path), convert.inner_path_of("target", request.target)
        ask = partial(acting.rename, path=path, target=target, replace=request.replace)
        await self._changed(request.filesystem, ask, path, target)
        return pb.RenameFileResponse()

    async def CopyFile(self, request: pb.CopyFileRequest, _context: object) -> pb.CopyFileResponse:
        path, target = convert.inner_path_of("path", request.path), convert.inner_path_of("target", request.target)
        ask = partial(acting.copy, path=path, target=target, replace=request.replace)
        made = await self._changed(request.filesystem, ask, path, target)
        return pb.CopyFileResponse(file=convert.file_message(made))

    async def WriteFile(self, request: pb.WriteFileRequest, _context: object) -> pb.WriteFileResponse:
        path, data = convert.inner_path_of("path", request.path), convert.data_of(request.data, request.crc32)
        ask = partial(acting.write, path=path, data=data, replace=request.replace)
        made = await self._changed(request.filesystem, ask, path)
        return pb.WriteFileResponse(file=convert.file_message(made))

    async def TouchFile(self, request: pb.TouchFileRequest, _context: object) -> pb.TouchFileResponse:
        path = convert.inner_path_of("path", request.path)
        ask = partial(acting.touch, path=path, now=time.time_ns())
        made = await self._changed(request.filesystem, ask, path)
        return pb.TouchFileResponse(file=convert.file_message(made))

    async def BeginUpload(self, request: pb.BeginUploadRequest, _context: object) -> pb.BeginUploadResponse:
        path, size = convert.inner_path_of("path", request.path), request.size
        mount = await self._mount(request.filesystem, write=True)
        begun = await self._places.ask(mount, [path], lambda backend: acting.begin(backend, path, size))
        upload = pb.Upload(id=begun.id, part_size=begun.part_size, most_parts=begun.most_parts)
        return pb.BeginUploadResponse(upload=upload)

    async def SendChunk(self, request: pb.SendChunkRequest, _context: object) -> pb.SendChunkResponse:
        upload, number = convert.upload_of(request.path, request.upload_id), convert.number_of(request)
        data = convert.data_of(request.data, request.crc32)
        mount = await self._mount(request.filesystem, write=True)
        key = PartKey(current_call().principal.name, mount.filesystem.id, upload.id, number)
        expected = self._chunks.add(key, request.offset, data)
        if not request.last or expected != request.offset + len(data):
            return pb.SendChunkResponse(next_offset=expected)
        sent = await self._places.ask(
            mount, upload.path, lambda backend: acting.send(backend, upload, number, self._chunks.whole(key))
        )
        self._chunks.forget(key)
        return pb.SendChunkResponse(next_offset=expected, part=convert.part_message(sent))

    async def FinishUpload(self, request: pb.FinishUploadRequest, _context: object) -> pb.FinishUploadResponse:
        upload, parts = convert.upload_of(request.path, request.upload_id), convert.parts_in(request.parts)
        ask = partial(acting.finish, upload=upload, parts=parts, replace=request.replace)
        made = await self._changed(request.filesystem, ask, upload.path)
        return pb.FinishUploadResponse(file=convert.file_message(made))

    async def DropUpload(self, request: pb.DropUploadRequest, _context: object) -> pb.DropUploadResponse:
        upload = convert.upload_of(request.path, request.upload_id)
        mount = await self._mount(request.filesystem, write=True)
        await self._places.ask(mount, [upload.path], lambda backend: backend.drop(upload))
        return pb.DropUploadResponse()

    async def _looked(self, filesystem: fs_pb2.FilesystemKey, path: str, ask: Callable[[Backend], T]) -> T:
        return await self._places.ask(await self._mount(filesystem, write=False), [path], ask)

    async def _changed(self, filesystem: fs_pb2.FilesystemKey, ask: Callable[[Backend], T], *paths: str) -> T:
        """What a change gives. It is on record before it is done: nobody changes files and leaves no trace."""
        mount, call = await self._mount(filesystem, write=True), current_call()
        if not call.principal.acting_service:
            async with self._database.change() as change:
                change.audit(audit_entry(call, f"filesystem/{mount.filesystem.id}", ""))
        return await self._places.ask(mount, paths, ask)

    async def _mount(self, filesystem: fs_pb2.FilesystemKey, *, write: bool) -> Mount:
        caller, key = current_call().principal, key_of(filesystem)
        return await self._mounts.reach(self._database.newest, caller, key, write=write)
