"""A running filesystem service with a corner for each test: users and folders that nobody else has."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from google.protobuf.descriptor import ServiceDescriptor
from grpc import aio

from paddleflow.auth.v1 import auth_pb2
from paddleflow.channel import open_channel
from paddleflow.common.v1 import event_pb2, info_pb2
from paddleflow.fs.v1 import file_manager_pb2, file_pb2, fs_pb2, link_pb2, mount_pb2
from pf_kit.clock import SystemClock
from pf_kit.joining import join
from pf_kit.tokens import Signer
from support.callers import Caller, methods_of
from support.fs_process import FsProcess
from support.fs_program import ENDPOINT
from support.queue_process import ROOT_PASSWORD
from support.queue_site import PASSWORD

SERVICES: tuple[ServiceDescriptor, ...] = tuple(
    service
    for file in (event_pb2, info_pb2, fs_pb2, link_pb2, mount_pb2, file_pb2, file_manager_pb2)
    for service in file.DESCRIPTOR.services_by_name.values()
)
METHODS = methods_of(SERVICES)
SECRET = "never-to-be-seen"
"""Of each filesystem behind a server."""
READ, READ_WRITE = fs_pb2.FILESYSTEM_ACCESS_READ, fs_pb2.FILESYSTEM_ACCESS_READ_WRITE


@dataclass(frozen=True)
class Member:
    """A user of a test."""

    name: str
    call: Caller
    folder: Path
    """Set aside for it."""


@dataclass
class FsSite:
    """What a test works with."""

    process: FsProcess
    channel: aio.Channel
    queue: aio.Channel
    root: Caller
    service: str
    """The secret of a service of the installation."""
    tag: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    """In all names of the test."""

    @property
    def anyone(self) -> Caller:
        return Caller(self.channel, methods=METHODS)

    def acting(self, user: str) -> Caller:
        """A service that acts for a user."""
        return Caller(self.channel, self.service, user, METHODS)

    async def add_user(self, word: str) -> Member:
        """A new user, logged in, with a folder of its own."""
        name = f"{word}{self.tag}"
        root = Caller(self.queue, (await self._log_in("root", ROOT_PASSWORD)))
        await root(auth_pb2.CreateUserRequest(user=auth_pb2.User(name=name), password=PASSWORD))
        folder = self.process.roots / name
        folder.mkdir()
        return Member(name, Caller(self.channel, await self._log_in(name, PASSWORD), "", METHODS), folder)

    async def delete_user(self, name: str) -> None:
        root = Caller(self.queue, (await self._log_in("root", ROOT_PASSWORD)))
        await root(auth_pb2.DeleteUserRequest(name=name))

    async def make(self, member: Member, name: str = "data") -> fs_pb2.Filesystem:
        """A filesystem of the user's, in a folder of its own."""
        folder = member.folder / name
        folder.mkdir(exist_ok=True)
        draft = fs_pb2.Filesystem(name=name, url=f"local://{folder}")
        made: fs_pb2.Filesystem = (await member.call(fs_pb2.CreateFilesystemRequest(filesystem=draft))).filesystem
        return made

    async def make_far(self, member: Member, name: str = "data", url: str = "s3://bucket/data") -> fs_pb2.Filesystem:
        """A filesystem of the user's, behind a server."""
        properties = {"endpoint": ENDPOINT, "accessKey": "AK", "secretKey": SECRET}
        draft = fs_pb2.Filesystem(name=name, url=url, properties=properties)
        made: fs_pb2.Filesystem = (await member.call(fs_pb2.CreateFilesystemRequest(filesystem=draft))).filesystem
        return made

    async def share(self, owner: Member, name: str, user: str, access: Any = READ) -> fs_pb2.FilesystemGrant:
        request = fs_pb2.GrantFilesystemRequest(filesystem=named(name), user=user, access=access)
        grant: fs_pb2.FilesystemGrant = (await owner.call(request)).grant
        return grant

    async def _log_in(self, user: str, password: str) -> str:
        login = await Caller(self.queue)(auth_pb2.LoginRequest(user=user, password=password))
        secret: str = login.secret
        return secret


def named(name: str, owner: str = "") -> fs_pb2.FilesystemKey:
    return fs_pb2.FilesystemKey(owner=owner, name=name)


@asynccontextmanager
async def opened_fs_site(process: FsProcess) -> AsyncIterator[FsSite]:
    """A corner of the running service."""
    async with open_channel(process.address, None) as channel, open_channel(process.queue.address, None) as queue:
        login = await Caller(queue)(auth_pb2.LoginRequest(user="root", password=ROOT_PASSWORD))
        signer = Signer((process.queue.folder / "signing.pem").read_bytes())
        member = await join(queue, "job", signer, SystemClock())
        secret = member.token.metadata()[0][1].removeprefix("Bearer ")
        yield FsSite(process, channel, queue, Caller(channel, login.secret, "", METHODS), secret)
