"""What uses filesystems, as the services that do it tell."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from grpc import aio

from paddleflow.fs.v1 import use_pb2, use_pb2_grpc
from paddleflow.problems import Problem, Unavailable
from paddleflow.status import problem_of
from pf_fs.ports import Use

if TYPE_CHECKING:
    from paddleflow.fs.v1.use_pb2_grpc import FilesystemUseServiceAsyncStub

ANSWER_SECONDS = 10.0
KINDS = {
    use_pb2.FILESYSTEM_USER_JOB: "job",
    use_pb2.FILESYSTEM_USER_RUN: "run",
    use_pb2.FILESYSTEM_USER_SCHEDULE: "schedule",
}
Metadata = Callable[[], Sequence[tuple[str, str]]]


class RemoteUses:
    """Fulfils `Uses` by FilesystemUseService of each service."""

    def __init__(self, channels: Mapping[str, aio.Channel], metadata: Metadata) -> None:
        """By the names of the services. The metadata hold the token of this one."""
        self._stubs: Mapping[str, FilesystemUseServiceAsyncStub] = {
            name: use_pb2_grpc.FilesystemUseServiceStub(channel) for name, channel in channels.items()
        }
        self._metadata = metadata

    async def of(self, filesystem_id: str) -> Sequence[Use] | Problem:
        try:
            found = await asyncio.gather(*(self._of(name, filesystem_id) for name in self._stubs))
        except Problem as problem:
            return problem
        return [use for uses in found for use in uses]

    async def _of(self, name: str, filesystem_id: str) -> Sequence[Use]:
        request = use_pb2.ListFilesystemUsesRequest(filesystem_id=filesystem_id)
        try:
            reply = await self._stubs[name].ListFilesystemUses(
                request, metadata=self._metadata(), timeout=ANSWER_SECONDS
            )
        except aio.AioRpcError as error:
            words = problem_of(error).message
            raise Unavailable(f"the service {name} does not say whether it uses the filesystem: {words}") from None
        return [Use(KINDS.get(use.kind, name), use.id, use.owner) for use in reply.uses]
