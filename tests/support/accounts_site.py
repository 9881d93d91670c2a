"""A server with AuthService, UserService and GrantService on a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc import aio
from prometheus_client import CollectorRegistry

from paddleflow.auth.v1 import auth_pb2, auth_pb2_grpc
from paddleflow.common.v1 import info_pb2
from paddleflow.status import problem_of
from pf_kit.auth import TokenAuthenticator
from pf_kit.forward import AlwaysLeading
from pf_kit.lists import Lists
from pf_kit.mutation import Mutations
from pf_kit.page import PageTokens
from pf_kit.server import ServerSettings, Service, ServiceServer
from pf_kit.token_status import CachedTokenStatus
from pf_kit.tokens import Claims, Signer, Verifier, new_private_key
from pf_kit.tracing import Tracing
from pf_kit.unit import Database
from pf_kit.watch import Watches
from pf_queue.accounts.seeds import seed_root
from pf_queue.accounts.servicer import AuthServicer, GrantServicer, Issuer, UserServicer
from pf_queue.accounts.status import StoredTokenStatus
from support.accounts import PASSWORD, ROOT_PASSWORD, World

R = TypeVar("R", bound=Message)

SECRET = b"of the installation"
INSTALLATION = "test-installation"
SERVICES: tuple[ServiceDescriptor, ...] = (
    *auth_pb2.DESCRIPTOR.services_by_name.values(),
    *info_pb2.DESCRIPTOR.services_by_name.values(),
)
METHODS: dict[str, MethodDescriptor] = {
    method.input_type.full_name: method for service in SERVICES for method in service.methods
}


def path_of(method: MethodDescriptor) -> str:
    return f"/{method.containing_service.full_name}/{method.name}"


@dataclass(frozen=True)
class Caller:
    """Calls methods with one token; which method is told by its request."""

    channel: aio.Channel
    secret: str = ""
    on_behalf_of: str = ""

    async def __call__(self, request: Message) -> Any:
        """The reply. Raises the problem that the server answers."""
        method = METHODS[request.DESCRIPTOR.full_name]
        call: aio.UnaryUnaryMultiCallable[Message, Any] = self.channel.unary_unary(
            path_of(method),
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=GetMessageClass(method.output_type).FromString,
        )
        try:
            return await call(request, metadata=self._metadata(), timeout=20)
        except aio.AioRpcError as error:
            raise problem_of(error) from None

    async def watch(self, request: Message) -> AsyncGenerator[Any, None]:
        """The messages of a stream. Raises the problem that ends it."""
        method = METHODS[request.DESCRIPTOR.full_name]
        begin: aio.UnaryStreamMultiCallable[Message, Any] = self.channel.unary_stream(
            path_of(method),
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=GetMessageClass(method.output_type).FromString,
        )
        stream = begin(request, metadata=self._metadata(), timeout=20)
        try:
            async for message in stream:
                yield message
        except aio.AioRpcError as error:
            raise problem_of(error) from None
        finally:
            stream.cancel()

    def _metadata(self) -> list[tuple[str, str]]:
        token = [("authorization", f"Bearer {self.secret}")] if self.secret else []
        return token + ([("x-paddleflow-on-behalf-of", self.on_behalf_of)] if self.on_behalf_of else [])


class RecordingMutations(Mutations):
    """Remembers what was asked for, as it is digested."""

    def __init__(self, database: Database, secret: bytes) -> None:
        super().__init__(database, secret)
        self.asked: list[Message] = []

    async def run(self, request: Message, reply_type: type[R], **how: Any) -> R:
        self.asked.append(request)
        return await super().run(request, reply_type, **how)


@dataclass(frozen=True)
class Site:
    """Accounts behind a server, with root and alice in them."""

    world: World
    signer: Signer
    older: Signer
    """Signed tokens until the keys were changed."""
    channel: aio.Channel
    mutations: RecordingMutations

    async def log_in(self, name: str, password: str = PASSWORD) -> Caller:
        reply = await self.anyone(auth_pb2.LoginRequest(user=name, password=password))
        return Caller(self.channel, reply.secret)

    async def root(self) -> Caller:
        return await self.log_in("root", ROOT_PASSWORD)

    @property
    def anyone(self) -> Caller:
        return Caller(self.channel)

    def service(self, on_behalf_of: str = "") -> Caller:
        return Caller(self.channel, self.signer.sign(self.claims("service/job", "of-job")), on_behalf_of)

    def claims(self, subject: str, token_id: str) -> Claims:
        """Those of a token that lasts an hour."""
        now = int(self.world.clock.now().timestamp())
        return Claims(INSTALLATION, subject, token_id, now, now + 3600)


@asynccontextmanager
async def served(world: World) -> AsyncIterator[Site]:
    """Serves a world on a port that is free."""
    await seed_root(world.database, world.store, world.users, ROOT_PASSWORD)
    await world.add_user("alice")
    signer, older = Signer(new_private_key()), Signer(new_private_key())
    keys = {signer.key_id: signer.public_key, older.key_id: older.public_key}
    status = CachedTokenStatus(
        StoredTokenStatus(database=world.database, store=world.store, clock=world.clock), world.clock
    )
    authenticator = TokenAuthenticator(Verifier(keys, issuer=INSTALLATION, clock=world.clock), status, world.clock)
    watches = Watches(world.database, authenticator.recheck, world.clock)
    server = ServiceServer(
        ServerSettings(("127.0.0.1:0",)),
        Service(
            name="queue",
            version="0",
            installation=INSTALLATION,
            database=world.database,
            authenticator=authenticator,
            watches=watches,
            page_tokens=PageTokens(SECRET),
            secret=SECRET,
            registry=CollectorRegistry(),
            tracing=Tracing(None, 0.0, lambda: 1.0),
            leader=AlwaysLeading(),
        ),
    )
    issuer = Issuer(signer=signer, installation=INSTALLATION, older_keys=[older.public_key])
    mutations = RecordingMutations(world.database, SECRET)
    add_servicers(server, world, issuer, status, watches, mutations)
    async with server.serving(), running(server), aio.insecure_channel(server.addresses[0]) as channel:
        yield Site(world, signer, older, channel, mutations)


def add_servicers(
    server: ServiceServer,
    world: World,
    issuer: Issuer,
    status: CachedTokenStatus,
    watches: Watches,
    mutations: Mutations,
) -> None:
    lists = Lists(tokens=PageTokens(SECRET))
    auth = AuthServicer(
        database=world.database,
        mutations=mutations,
        lists=lists,
        tokens=world.tokens,
        grants=world.grants,
        issuer=issuer,
        status=status,
    )
    users = UserServicer(
        database=world.database,
        mutations=mutations,
        lists=lists,
        watches=watches,
        users=world.users,
        credentials=world.credentials,
        status=status,
    )
    grants = GrantServicer(
        database=world.database, mutations=mutations, lists=lists, watches=watches, grants=world.grants
    )
    server.add(auth_pb2_grpc.add_AuthServiceServicer_to_server, auth)
    server.add(auth_pb2_grpc.add_UserServiceServicer_to_server, users)
    server.add(auth_pb2_grpc.add_GrantServiceServicer_to_server, grants)


@asynccontextmanager
async def running(server: ServiceServer) -> AsyncIterator[None]:
    """What a server needs beside itself, for the block."""
    tasks = [asyncio.ensure_future(loop()) for loop in server.loops.values()]
    yield
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
