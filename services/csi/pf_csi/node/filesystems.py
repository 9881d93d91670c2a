"""The filesystem service, as the node needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpc import aio

from paddleflow.fs.v1 import fs_pb2, fs_pb2_grpc
from paddleflow.problems import Problem
from paddleflow.status import problem_of
from pf_csi.places import Named, Place
from pf_csi.refusals import Refusal, Why

if TYPE_CHECKING:
    from paddleflow.fs.v1.fs_pb2_grpc import FilesystemServiceAsyncStub

_SECONDS = 10.0


class NoFilesystems:
    """Fulfils `Filesystems` where there is no service."""

    async def described(self, _named: Named, *, read_only: bool) -> Place:  # noqa: ARG002  # as the port has it
        raise Refusal(Why.UNREADY, "the driver knows no filesystem service: set PF_CSI_NODE_FS, or give the url")


class RemoteFilesystems:
    """Fulfils `Filesystems`: asks for each mount anew, as whoever the token is of."""

    def __init__(self, channel: aio.Channel) -> None:
        self._stub: FilesystemServiceAsyncStub = fs_pb2_grpc.FilesystemServiceStub(channel)

    async def described(self, named: Named, *, read_only: bool) -> Place:
        owner, _, name = named.name.rpartition("/")
        key = fs_pb2.FilesystemKey(owner=owner, name=name)
        request = fs_pb2.DescribeMountRequest(filesystem=key, sub_path=named.folder, read_only=read_only)
        bearer = (("authorization", f"Bearer {named.token}"),)
        try:
            answer = await self._stub.DescribeMount(request, metadata=bearer, timeout=_SECONDS)
        except aio.AioRpcError as error:
            raise _refusal(problem_of(error), named) from None
        return _place(answer.mount)


def _place(mount: fs_pb2.Mount) -> Place:
    if mount.links:
        raise Refusal(Why.UNREADY, "this filesystem has links, which volumes do not have yet; mount what they lead to")
    if mount.WhichOneof("source") == "local":
        raise Refusal(Why.UNREADY, "this filesystem is a folder of the machines: use a volume of kind local")
    remote = mount.remote
    return Place(remote.url, dict(remote.properties), dict(remote.secrets), mount.quota.bytes or None)


def _refusal(problem: Problem, named: Named) -> Refusal:
    """With the service's own words, which name what to do."""
    text = f"the filesystem {named.name} cannot be mounted: {problem.message}"
    try:
        return Refusal(Why(problem.code.name), text)
    except ValueError:
        return Refusal(Why.UNREACHABLE, text)
