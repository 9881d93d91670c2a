"""A service that asks another one whether a token is good."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from grpc import aio

from paddleflow.auth.v1 import auth_pb2, auth_pb2_grpc
from paddleflow.channel import open_channel_without_retries
from paddleflow.problems import TokenRevoked, Unavailable
from pf_kit import token_status
from pf_kit.auth import TokenState
from pf_kit.served import Context
from pf_kit.token_status import RemoteTokenStatus
from support.kit_client import ALICE, problem, running, settings
from support.kit_echo.app import Echo
from support.kit_echo.stubs import echo_pb2


class Tokens:
    """Answers CheckToken; the other methods are not called."""

    def __init__(self) -> None:
        self.good = True

    async def CheckToken(self, request: auth_pb2.CheckTokenRequest, context: Context) -> auth_pb2.CheckTokenResponse:  # noqa: N802
        if request.id == "lost":
            await context.abort(grpc.StatusCode.UNAVAILABLE, "cannot tell")
        return auth_pb2.CheckTokenResponse(good=self.good, user=request.id, root=request.id == "root")

    def __getattr__(self, name: str) -> Any:
        return self.CheckToken


def nothing() -> Sequence[tuple[str, str]]:
    """The metadata of a service that does not say who it is."""
    return ()


@asynccontextmanager
async def asked(tokens: Tokens) -> AsyncIterator[RemoteTokenStatus]:
    server = aio.server()
    servicer: Any = tokens
    auth_pb2_grpc.add_AuthServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with open_channel_without_retries(f"127.0.0.1:{port}", None) as channel:
        yield RemoteTokenStatus(auth_pb2_grpc.AuthServiceStub(channel), nothing)
    await server.stop(None)


async def test_the_answer_of_the_other_service_counts() -> None:
    tokens = Tokens()
    async with asked(tokens) as status, running(Echo(settings(), status=status)) as echo:
        assert await status.check("root") == TokenState(good=True, user="root", root=True)
        await echo.stub.PutNote(echo_pb2.PutNoteRequest(note=echo_pb2.Note(name="a")), metadata=ALICE)
    tokens.good = False
    async with asked(tokens) as status, running(Echo(settings(), status=status)) as echo:
        call = echo.stub.GetNote(echo_pb2.GetNoteRequest(name="a"), metadata=ALICE)
        assert type(await problem(call)) is TokenRevoked


async def test_a_service_that_cannot_tell_makes_the_call_unavailable() -> None:
    async with asked(Tokens()) as status:
        with pytest.raises(Unavailable):
            await status.check("lost")


async def test_a_service_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_status, "ASK_TIMEOUT", 0.2)
    async with open_channel_without_retries("127.0.0.1:1", None) as channel:
        with pytest.raises(Unavailable):
            await RemoteTokenStatus(auth_pb2_grpc.AuthServiceStub(channel), nothing).check("t")
