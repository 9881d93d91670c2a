"""FileService on the wire."""

from __future__ import annotations

from collections.abc import Callable

from paddleflow.fs.v1 import file_pb2 as pb
from paddleflow.fs.v1 import file_pb2_grpc, fs_pb2
from pf_fs.convert import key_of
from pf_fs.files import convert
from pf_fs.ports import FilesAt, Folder
from pf_fs.service import Entrance, Mount
from pf_kit.call import current_call
from pf_kit.unit import Database


class FileServicer(file_pb2_grpc.FileServiceServicer):
    """Reads and arranges files."""

    def __init__(
        self, *, database: Database, entrance: Entrance, files_at: Callable[[Folder | Mount], FilesAt]
    ) -> None:
        self._database = database
        self._entrance = entrance
        self._at_of = files_at

    async def StatFiles(self, request: pb.StatFilesRequest, _context: object) -> pb.StatFilesResponse:
        paths = convert.paths_of(request.paths)
        found = await (await self._at(request.filesystem)).stat(paths)
        return pb.StatFilesResponse(files=map(convert.stat_message, paths, found))

    async def ReadFiles(self, request: pb.ReadFilesRequest, _context: object) -> pb.ReadFilesResponse:
        ranges = convert.ranges_of(request.ranges)
        found = await (await self._at(request.filesystem)).read(ranges)
        paths = [each.path for each in ranges]
        return pb.ReadFilesResponse(pieces=map(convert.piece_message, paths, found))

    async def DigestFiles(self, request: pb.DigestFilesRequest, _context: object) -> pb.DigestFilesResponse:
        paths, mode = convert.paths_of(request.paths), convert.mode_of(request.mode)
        found = await (await self._at(request.filesystem)).digest(paths, mode)
        return pb.DigestFilesResponse(digests=map(convert.digest_message, paths, found))

    async def MakeFolders(self, request: pb.MakeFoldersRequest, _context: object) -> pb.MakeFoldersResponse:
        paths = convert.paths_of(request.paths)
        found = await (await self._at(request.filesystem, write=True)).make(paths)
        return pb.MakeFoldersResponse(changes=map(convert.change_message, paths, found))

    async def RemoveFiles(self, request: pb.RemoveFilesRequest, _context: object) -> pb.RemoveFilesResponse:
        paths = convert.inner_paths_of(request.paths)
        found = await (await self._at(request.filesystem, write=True)).remove(paths)
        return pb.RemoveFilesResponse(changes=map(convert.change_message, paths, found))

    async def PreparePaths(self, request: pb.PreparePathsRequest, _context: object) -> pb.PreparePathsResponse:
        paths = convert.inner_paths_of(request.paths)
        found = await (await self._at(request.filesystem, write=True)).prepare(paths)
        return pb.PreparePathsResponse(changes=map(convert.change_message, paths, found))

    async def _at(self, filesystem: fs_pb2.FilesystemKey, *, write: bool = False) -> FilesAt:
        caller = current_call().principal
        return self._at_of(await self._entrance.open(self._database.newest, caller, key_of(filesystem), write=write))
