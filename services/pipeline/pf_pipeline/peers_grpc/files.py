"""Files, by FileService."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from grpc import aio

from paddleflow.fs.v1 import errors_pb2, fs_pb2
from paddleflow.fs.v1 import file_pb2 as pb
from paddleflow.fs.v1.file_pb2_grpc import FileServiceStub
from paddleflow.problems import FileNotFound, FileUnusable, FolderNotAllowed, PathEscapes
from pf_kit.changes import UNBORN
from pf_pipeline.artifacts.ports import Ask, Fault, Pending, Piece
from pf_pipeline.documents.model import CacheMode
from pf_pipeline.owners import Owner, Users
from pf_pipeline.peers_grpc.calls import Metadata, behalf, call
from pf_pipeline.peers_grpc.users import require_there

if TYPE_CHECKING:
    from paddleflow.fs.v1.file_pb2_grpc import FileServiceAsyncStub

MOST_PATHS = 1000
"""In one call."""
MOST_READ = 1024 * 1024
"""Bytes that one call returns."""
ANSWER_SECONDS = 30.0
"""The service stops working for a call earlier."""
KNOWN_SECONDS = 1.0
"""For so long it is not asked again whether a user is there."""
FAULTS = {problem.reason: problem for problem in (FileNotFound, FileUnusable, FolderNotAllowed, PathEscapes)}
MODES = {CacheMode.CONTENT: pb.DIGEST_MODE_CONTENT, CacheMode.MTIME: pb.DIGEST_MODE_TIME}
T = TypeVar("T")


class RemoteFiles:
    """Fulfils `Files`."""

    def __init__(self, channel: aio.Channel, metadata: Metadata, users: Users) -> None:
        self._files: FileServiceAsyncStub = FileServiceStub(channel)
        self._metadata = metadata
        self._users = users
        self._there: dict[Owner, float] = {}
        """Users who were there, and when that was asked."""

    async def exist(self, ask: Ask, paths: Sequence[str]) -> Sequence[bool | Fault]:
        async def some(paths: Sequence[str]) -> Sequence[bool | Fault]:
            request = pb.StatFilesRequest(filesystem=_key(ask), paths=paths)
            reply = await call(
                self._files.StatFiles, request, pb.StatFilesResponse, await self._for(ask), ANSWER_SECONDS
            )
            return [_existence(each) for each in reply.files]

        return await _in_batches(paths, MOST_PATHS, some)

    async def read(self, ask: Ask, paths: Sequence[str], longest: int) -> Sequence[Piece | Fault]:
        async def some(paths: Sequence[str]) -> Sequence[Piece | Fault]:
            ranges = [pb.FileRange(path=path, length=longest) for path in paths]
            request = pb.ReadFilesRequest(filesystem=_key(ask), ranges=ranges)
            reply = await call(
                self._files.ReadFiles, request, pb.ReadFilesResponse, await self._for(ask), ANSWER_SECONDS
            )
            return [
                _fault(each.fault) if each.HasField("fault") else Piece(each.data, each.size) for each in reply.pieces
            ]

        return await _in_batches(paths, min(MOST_PATHS, MOST_READ // max(longest, 1)), some)

    async def digest(self, ask: Ask, paths: Sequence[str], mode: CacheMode) -> Sequence[str | Pending | Fault]:
        async def some(paths: Sequence[str]) -> Sequence[str | Pending | Fault]:
            request = pb.DigestFilesRequest(filesystem=_key(ask), paths=paths, mode=MODES[mode])
            reply = await call(
                self._files.DigestFiles, request, pb.DigestFilesResponse, await self._for(ask), ANSWER_SECONDS
            )
            return [_unfinished(each) or each.digest for each in reply.digests]

        return await _as_far_as_it_goes(paths, some)

    async def prepare(self, ask: Ask, paths: Sequence[str]) -> Sequence[Fault | Pending | None]:
        async def some(paths: Sequence[str]) -> Sequence[Fault | Pending | None]:
            request = pb.PreparePathsRequest(filesystem=_key(ask), paths=paths)
            reply = await call(
                self._files.PreparePaths, request, pb.PreparePathsResponse, await self._for(ask), ANSWER_SECONDS
            )
            return [_unfinished(each) for each in reply.changes]

        return await _as_far_as_it_goes(paths, some)

    async def remove(self, ask: Ask, paths: Sequence[str]) -> Sequence[Fault | Pending | None]:
        async def some(paths: Sequence[str]) -> Sequence[Fault | Pending | None]:
            request = pb.RemoveFilesRequest(filesystem=_key(ask), paths=paths)
            reply = await call(
                self._files.RemoveFiles, request, pb.RemoveFilesResponse, await self._for(ask), ANSWER_SECONDS
            )
            return [_unfinished(each) for each in reply.changes]

        return await _as_far_as_it_goes(paths, some)

    async def _for(self, ask: Ask) -> Sequence[tuple[str, str]]:
        """The metadata of a call. Raises UserNotFound."""
        if ask.since != UNBORN:
            await self._require_there(Owner(ask.user, ask.since))
        return behalf(self._metadata, ask.user)

    async def _require_there(self, owner: Owner) -> None:
        now = monotonic()
        if now - self._there.get(owner, float("-inf")) < KNOWN_SECONDS:
            return
        await require_there(self._users, owner)
        self._there = {each: time for each, time in self._there.items() if now - time < KNOWN_SECONDS} | {owner: now}


def _key(ask: Ask) -> fs_pb2.FilesystemKey:
    return fs_pb2.FilesystemKey(id=ask.filesystem_id)


def _existence(found: pb.FileStat) -> bool | Fault:
    if not found.HasField("fault"):
        return True
    fault = _fault(found.fault)
    return False if isinstance(fault.problem, FileNotFound) else fault


def _unfinished(found: pb.FileDigest | pb.FileChange) -> Fault | Pending | None:
    if found.HasField("fault"):
        return _fault(found.fault)
    return Pending() if found.pending else None


def _fault(fault: pb.FileFault) -> Fault:
    """A reason that a newer service knows is told by its message."""
    name = next(
        (each.name for each in errors_pb2.FilesystemReason.DESCRIPTOR.values if each.number == fault.reason), ""
    )
    return Fault(FAULTS.get(name.removeprefix("FILESYSTEM_REASON_"), FileUnusable)(fault.message))


async def _in_batches(
    paths: Sequence[str], size: int, ask: Callable[[Sequence[str]], Awaitable[Sequence[T]]]
) -> Sequence[T]:
    found = list[T]()
    for begin in range(0, len(paths), size):
        found.extend(await ask(paths[begin : begin + size]))
    return found


async def _as_far_as_it_goes(
    paths: Sequence[str], ask: Callable[[Sequence[str]], Awaitable[Sequence[T | Pending]]]
) -> Sequence[T | Pending]:
    """The same, until a batch is not finished in one call: the rest is left for the next time."""
    found = list[T | Pending]()
    while len(found) < len(paths) and not any(isinstance(each, Pending) for each in found):
        found.extend(await ask(paths[len(found) : len(found) + MOST_PATHS]))
    return [*found, *(Pending() for _ in paths[len(found) :])]
