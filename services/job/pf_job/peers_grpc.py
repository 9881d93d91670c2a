"""The services that keep queues, grants and filesystems, as jobs need them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from google.protobuf.message import Message
from grpc import aio

from paddleflow.auth.v1 import auth_pb2, auth_pb2_grpc
from paddleflow.fs.v1 import fs_pb2, fs_pb2_grpc, mount_pb2, mount_pb2_grpc
from paddleflow.mounting import limits
from paddleflow.queue.v1 import cluster_pb2, cluster_pb2_grpc, queue_pb2, queue_pb2_grpc
from paddleflow.status import problem_of
from pf_job.jobs.ports import QueueInfo
from pf_job.runtimes.local.remote.domain import About
from pf_job.runtimes.local.remote.reporting import Report
from pf_job.runtimes.port import Mount, Place, Remote, RemoteMount
from pf_job.specs.domain import FilesystemMount
from pf_kit.auth import ON_BEHALF_OF
from pf_kit.clock import Clock
from pf_kit.principal import Principal, PrincipalKind

if TYPE_CHECKING:
    from paddleflow.auth.v1.auth_pb2_grpc import GrantServiceAsyncStub
    from paddleflow.fs.v1.fs_pb2_grpc import FilesystemServiceAsyncStub
    from paddleflow.fs.v1.mount_pb2_grpc import MountServiceAsyncStub
    from paddleflow.queue.v1.cluster_pb2_grpc import FlavourServiceAsyncStub
    from paddleflow.queue.v1.queue_pb2_grpc import QueueServiceAsyncStub

ANSWER_SECONDS = 5.0
"""How long another service may take."""
FRESH_SECONDS = 5.0
"""How long an answer is good: as long as a grant that was taken back may still work."""
MOST_KEPT = 10_000
"""Answers; beyond, the oldest go."""
PAGE = 1000
Metadata = Callable[[], Sequence[tuple[str, str]]]
V = TypeVar("V")
A = TypeVar("A", bound=Message)


@dataclass(slots=True)
class Recent(Generic[V]):
    """Answers of the last seconds. Who asks while the same is being asked waits for that answer."""

    clock: Clock
    _known: dict[Hashable, tuple[float, asyncio.Future[V]]] = field(default_factory=dict)

    async def get(self, key: Hashable, ask: Callable[[], Awaitable[V]]) -> V:
        known = self._known.get(key)
        if known is not None and self.clock.monotonic() - known[0] < FRESH_SECONDS:
            return await asyncio.shield(known[1])
        asking = asyncio.ensure_future(ask())
        asking.add_done_callback(partial(self._drop_failure, key))
        self._known.pop(key, None)
        self._known[key] = (self.clock.monotonic(), asking)
        if len(self._known) > MOST_KEPT:
            del self._known[next(iter(self._known))]
        return await asyncio.shield(asking)

    def _drop_failure(self, key: Hashable, asked: asyncio.Future[V]) -> None:
        """A failure is no answer: whoever comes next asks anew, also if all who waited for it are gone."""
        known = self._known.get(key)
        if (asked.cancelled() or asked.exception() is not None) and known is not None and known[1] is asked:
            del self._known[key]


class RemoteQueues:
    """Fulfils `Queues` by QueueService, FlavourService and GrantService."""

    def __init__(self, channel: aio.Channel, metadata: Metadata, clock: Clock) -> None:
        """The metadata hold the token of this service."""
        self._queues: QueueServiceAsyncStub = queue_pb2_grpc.QueueServiceStub(channel)
        self._flavours: FlavourServiceAsyncStub = cluster_pb2_grpc.FlavourServiceStub(channel)
        self._grants: GrantServiceAsyncStub = auth_pb2_grpc.GrantServiceStub(channel)
        self._metadata = metadata
        self._infos: Recent[QueueInfo] = Recent(clock)
        self._amounts: Recent[Mapping[str, int]] = Recent(clock)
        self._granted: Recent[frozenset[str]] = Recent(clock)

    async def queue(self, caller: Principal, name: str) -> QueueInfo:
        return await self._infos.get((caller.kind, caller.name, name), lambda: self._queue(caller, name))

    async def flavours(self, names: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        return {name: await self._amounts.get(name, lambda name=name: self._flavour(name)) for name in names}  # type: ignore[misc]  # a default binds the name

    async def granted(self, user: str) -> frozenset[str]:
        return await self._granted.get(user, lambda: self._grants_of(user))

    async def _queue(self, caller: Principal, name: str) -> QueueInfo:
        metadata = behalf(self._metadata(), caller)
        request = queue_pb2.GetQueueRequest(name=name)
        reply = await call(self._queues.GetQueue, request, queue_pb2.GetQueueResponse, metadata)
        queue = reply.queue
        takes = queue.state not in (queue_pb2.QUEUE_STATE_CLOSING, queue_pb2.QUEUE_STATE_CLOSED)
        return QueueInfo(queue.name, queue.namespace, takes, dict(queue.effective_max.amounts))

    async def _flavour(self, name: str) -> Mapping[str, int]:
        request = cluster_pb2.GetFlavourRequest(name=name)
        reply = await call(self._flavours.GetFlavour, request, cluster_pb2.GetFlavourResponse, self._metadata())
        return dict(reply.flavour.resources.amounts)

    async def _grants_of(self, user: str) -> frozenset[str]:
        found: set[str] = set()
        token = ""
        while True:
            request = auth_pb2.ListGrantsRequest(
                user=user, kind=auth_pb2.RESOURCE_KIND_QUEUE, page_size=PAGE, page_token=token
            )
            reply = await call(self._grants.ListGrants, request, auth_pb2.ListGrantsResponse, self._metadata())
            found.update(grant.resource for grant in reply.grants)
            if not (token := reply.next_page_token):
                return frozenset(found)


class RemoteFilesystems:
    """Fulfils `Filesystems` and `Reports` by the filesystem service, and says where the files of a job are."""

    def __init__(self, channel: aio.Channel, metadata: Metadata) -> None:
        """The metadata hold the token of this service."""
        self._filesystems: FilesystemServiceAsyncStub = fs_pb2_grpc.FilesystemServiceStub(channel)
        self._mounts: MountServiceAsyncStub = mount_pb2_grpc.MountServiceStub(channel)
        self._metadata = metadata

    async def ids(self, caller: Principal, names: Sequence[str]) -> Mapping[str, str]:
        return {name: await self._id(caller, name) for name in names}

    async def require(self, caller: Principal, id_: str, *, write: bool) -> None:
        await self.describe(caller.name, FilesystemMount(id=id_, read_only=not write))

    async def describe(self, user: str, mount: FilesystemMount) -> Mount | RemoteMount:
        """Where the files of a mount are, for one task of a user. Raises what DescribeMount's contract lists."""
        found = await self._described(user, mount, mount.sub_path)
        if found.HasField("local"):
            folder = found.local
            return Mount(folder.path, mount.path, found.read_only, (folder.device, folder.inode))
        # All of it is mounted once, for all who see some of it.
        whole = await self._described(user, mount, "") if mount.sub_path else found
        return RemoteMount(remote_of(whole), mount.path, mount.sub_path)

    async def report(self, report: Report) -> Mapping[str, int | None]:
        about = report.about
        mount = mount_pb2.FilesystemMount(
            mount_id=report.mount_id,
            node=report.node,
            path=report.path,
            read_only=about.read_only,
            etag=about.etag,
            usage=mount_pb2.CacheUsage(**report.usage),
        )
        request = mount_pb2.ReportMountRequest(filesystem=fs_pb2.FilesystemKey(id=about.filesystem), mount=mount)
        metadata = (*self._metadata(), (ON_BEHALF_OF, about.tenant))
        reply = await call(self._mounts.ReportMount, request, mount_pb2.ReportMountResponse, metadata)
        return limits(reply.quota.bytes, reply.quota.files)

    async def end(self, about: About, mount_id: str) -> None:
        request = mount_pb2.EndMountRequest(filesystem_id=about.filesystem, mount_id=mount_id)
        metadata = (*self._metadata(), (ON_BEHALF_OF, about.tenant))
        await call(self._mounts.EndMount, request, mount_pb2.EndMountResponse, metadata)

    async def now(self, about: About) -> Remote:
        mount = FilesystemMount(id=about.filesystem, read_only=about.read_only)
        return remote_of(await self._described(about.tenant, mount, ""))

    async def _described(self, user: str, mount: FilesystemMount, sub_path: str) -> fs_pb2.Mount:
        request = fs_pb2.DescribeMountRequest(
            filesystem=fs_pb2.FilesystemKey(id=mount.id), sub_path=sub_path, read_only=mount.read_only
        )
        metadata = (*self._metadata(), (ON_BEHALF_OF, user))
        return (await call(self._filesystems.DescribeMount, request, fs_pb2.DescribeMountResponse, metadata)).mount

    async def _id(self, caller: Principal, name: str) -> str:
        owner, _, bare = name.rpartition("/")
        request = fs_pb2.GetFilesystemRequest(filesystem=fs_pb2.FilesystemKey(owner=owner, name=bare))
        metadata = behalf(self._metadata(), caller)
        reply = await call(self._filesystems.GetFilesystem, request, fs_pb2.GetFilesystemResponse, metadata)
        return reply.filesystem.id


def remote_of(mount: fs_pb2.Mount) -> Remote:
    """A filesystem behind a server, of its description."""
    return Remote(
        filesystem=mount.filesystem_id,
        etag=mount.etag,
        place=_place_of(mount.remote),
        links={
            link.path: _place_of(link.remote) if link.HasField("remote") else Place(f"local://{link.local.path}")
            for link in mount.links
        },
        read_only=mount.read_only,
        cache_size=mount.cache.size,
        quota=limits(mount.quota.bytes, mount.quota.files),
    )


def _place_of(folder: fs_pb2.RemoteFolder) -> Place:
    return Place(folder.url, {**folder.properties, **folder.secrets})


def behalf(metadata: Sequence[tuple[str, str]], caller: Principal) -> Sequence[tuple[str, str]]:
    """The metadata of a call for a caller; a service that acts for nobody is asked for as itself."""
    return (*metadata, (ON_BEHALF_OF, caller.name)) if caller.kind is PrincipalKind.USER else metadata


async def call(
    method: Callable[..., Awaitable[object]], request: Message, reply: type[A], metadata: Sequence[tuple[str, str]]
) -> A:
    """The reply of another service. Raises its problem."""
    try:
        found = await method(request, metadata=metadata, timeout=ANSWER_SECONDS)
    except aio.AioRpcError as error:
        raise problem_of(error) from None
    if not isinstance(found, reply):
        raise TypeError(f"{type(found).__name__} is no {reply.__name__}")
    return found
