"""Calls of one user on one server: the token, the deadline, and failures as problems."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator
from typing import Protocol, TypeVar, cast

import grpc
from google.protobuf.message import Message
from grpc import aio

from paddleflow.auth.v1 import auth_pb2, auth_pb2_grpc
from paddleflow.connection import Connection
from paddleflow.models.users import NewToken
from paddleflow.problems import (
    DeadlineExceeded,
    Problem,
    TokenExpired,
    TokenInvalid,
    TokenMissing,
    TokenRevoked,
    Unavailable,
    WrongPassword,
)
from paddleflow.status import Failure, problem_of
from paddleflow.wire.base import build
from paddleflow.wire.users import new_token_from_wire

# What gRPC itself says, where a server would say which of its limits was reached.
CORE_DEADLINE = "Deadline Exceeded"

REFUSED = (TokenExpired, TokenInvalid, TokenRevoked)


class Mutation(Protocol):
    """A request that takes effect once, however often it is sent."""

    request_id: str


Q = TypeVar("Q")
R = TypeVar("R")
M = TypeVar("M", bound=Mutation)


class Session:
    """Sends the calls of one user over one channel."""

    def __init__(self, channel: aio.Channel, connection: Connection) -> None:
        self.channel = channel
        self.connection = connection
        self._auth: auth_pb2_grpc.AuthServiceAsyncStub = auth_pb2_grpc.AuthServiceStub(channel)
        self._lock = asyncio.Lock()
        self._password = connection.password
        self._secret = connection.token or connection.token_cache.read()

    @property
    def can_log_in(self) -> bool:
        """True if a token that is refused can be replaced; one that was given never is: it may be somebody else's."""
        return bool(not self.connection.token and self.connection.user and self._password)

    async def log_in(self) -> NewToken:
        """Makes a new token of the name and the password, and sends it from now on."""
        return await self._log_in(self._password)

    async def _log_in(self, password: str) -> NewToken:
        if not (self.connection.user and password):
            raise TokenMissing("neither a token nor a name and password are given: log in with `paddleflow login`")
        request = build(auth_pb2.LoginRequest, user=self.connection.user, password=password)
        reply = await self.call_anonymously(self._auth.Login, request)
        made = new_token_from_wire(reply)
        self._secret = made.secret
        if made.token.expire_time is not None:
            self.connection.token_cache.write(made.secret, made.token.expire_time.timestamp())
        return made

    async def call(self, method: aio.UnaryUnaryMultiCallable[Q, R], request: Q, *, patience: float = 0.0) -> R:
        """One call; logs in if that has not happened, or if the token is refused.

        It may take as many seconds as the connection allows, or as this call takes by its nature.
        """
        secret = await self._token()
        try:
            return await self._send(method, request, secret, patience)
        except REFUSED:
            if not self.can_log_in:
                raise
            self.forget(secret)
        return await self._send(method, request, await self._token(), patience)

    async def change(
        self, method: aio.UnaryUnaryMultiCallable[M, R], request: M, request_id: str, *, patience: float = 0.0
    ) -> R:
        """One call that changes something, under an id that makes it safe to send again; empty: under a new id."""
        request.request_id = request_id or uuid.uuid4().hex
        return await self.call(method, request, patience=patience)

    async def change_password(
        self,
        method: aio.UnaryUnaryMultiCallable[auth_pb2.SetPasswordRequest, auth_pb2.SetPasswordResponse],
        request: auth_pb2.SetPasswordRequest,
        request_id: str,
    ) -> None:
        """Changes the password of whom this session logs in as; the session uses the new one from now on.

        Where the old one is of no use even for logging in, the change may have been made by an earlier try whose reply
        was lost: then it is repeated under the new one, and the server, knowing its id, confirms it.
        """
        try:
            await self.change(method, request, request_id)
        except WrongPassword:
            if self._secret:
                raise
            await self._log_in(request.new_password)
            await self.change(method, request, request.request_id)
        self._password = request.new_password
        self.forget(self._secret)

    async def call_anonymously(self, method: aio.UnaryUnaryMultiCallable[Q, R], request: Q) -> R:
        """One call that needs no token."""
        return await self._send(method, request, "")

    async def stream(self, method: aio.UnaryStreamMultiCallable[Q, R], request: Q) -> AsyncGenerator[R, None]:
        """The messages of one stream; ends with a problem or when the server ends it."""
        secret = await self._token()
        call = method(request, metadata=_metadata(secret))
        try:
            async for message in call:
                yield message
        except grpc.RpcError as error:
            problem = self._problem(error, request)
            if isinstance(problem, REFUSED):
                self.forget(secret)
            raise problem from error
        finally:
            call.cancel()

    def forget(self, secret: str) -> None:
        """Does not send this token any more, unless it is the one that was given."""
        self.connection.token_cache.drop(secret)
        if self._secret == secret != self.connection.token:
            self._secret = ""

    async def _token(self) -> str:
        async with self._lock:
            if not self._secret:
                await self.log_in()
            return self._secret

    async def _send(
        self, method: aio.UnaryUnaryMultiCallable[Q, R], request: Q, secret: str, patience: float = 0.0
    ) -> R:
        timeout = max(self.connection.timeout, patience)
        try:
            return await method(request, timeout=timeout, metadata=_metadata(secret))
        except grpc.RpcError as error:
            raise self._problem(error, request, timeout) from error

    def _problem(self, error: grpc.RpcError, request: object, timeout: float = 0.0) -> Problem:
        failure, service = cast("Failure", error), _service_of(request)
        problem, address = problem_of(failure), self.connection.address_of(service)
        if failure.code() is grpc.StatusCode.UNIMPLEMENTED:
            return Unavailable(f"{address} does not serve {service}; is its address in the configuration?")
        if type(problem) is Unavailable:
            return Unavailable(f"no answer from {address}: {problem.message}", retry_after=problem.retry_after)
        if problem.message == CORE_DEADLINE:
            return DeadlineExceeded(f"no answer from {address} within {timeout or self.connection.timeout:g} s")
        return problem


def _service_of(request: object) -> str:
    """Which service a request is for: the second word of its package, as in ``paddleflow.fs.v1``."""
    return cast("Message", request).DESCRIPTOR.file.package.split(".")[1]


def _metadata(secret: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {secret}"),) if secret else ()
