"""Calls to an echo service under test."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc
from grpc import aio

from paddleflow.channel import Tls, open_channel_without_retries
from paddleflow.problems import Problem
from paddleflow.status import problem_of
from pf_kit.lifecycle import Stop, serve
from pf_kit.server import ServerSettings, ServiceServer
from pf_kit.setting_types import Secret
from pf_kit.tokens import Claims, Signer, new_private_key
from support.kit_echo.app import INSTALLATION, Echo, EchoSettings
from support.kit_echo.servicer import EchoServicer
from support.kit_echo.stubs import echo_pb2_grpc

KEY = new_private_key()
LOOPBACK = ("127.0.0.1:0",)


def token(subject: str = "user/alice", *, lasts: float = 3600.0, issuer: str = INSTALLATION, key: bytes = KEY) -> str:
    now = int(time.time())
    return Signer(key).sign(Claims(issuer, subject, subject.partition("/")[2], now - 3600, int(now + lasts)))


def bearer(secret: str, *more: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {secret}"), *more)


ALICE = bearer(token())
ROOT = bearer(token("user/root"))


@dataclass(slots=True)
class Running:
    """An echo service that serves, and a stub of it."""

    server: ServiceServer
    servicer: EchoServicer
    channel: aio.Channel
    stub: Any
    stop: Stop
    serving: asyncio.Task[None]


def settings(**more: Any) -> EchoSettings:
    return EchoSettings(Secret(KEY.decode()), ServerSettings(**{"listen": LOOPBACK, "grace_seconds": 3.0, **more}))


@asynccontextmanager
async def running(echo: Echo, tls: Tls | None = None) -> AsyncIterator[Running]:
    """Serves for the block."""
    server, servicer = echo.build()
    stop = Stop()
    serving = asyncio.create_task(serve(server, {}, stop))
    while not server.addresses or not stop.serving:
        await asyncio.sleep(0.005)
        if serving.done():
            await serving
    async with open_channel_without_retries(server.addresses[0], tls) as channel:
        yield Running(server, servicer, channel, echo_pb2_grpc.EchoServiceStub(channel), stop, serving)
    stop.asked.set()
    await serving


async def until(condition: Callable[[], Awaitable[bool]], patience: float = 30.0) -> None:
    """Waits until something has become true."""
    async with asyncio.timeout(patience):
        while not await condition():  # noqa: ASYNC110  # what is waited for happens in another process or thread
            await asyncio.sleep(0.005)


async def problem(call: Any) -> Problem:
    """The problem that a call ends with."""
    try:
        await call
    except aio.AioRpcError as error:
        return problem_of(error)
    raise AssertionError("the call succeeded")


async def raw_code(channel: aio.Channel, path: str, request: bytes) -> grpc.StatusCode:
    """The code that a call with these very bytes ends with."""
    send: aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(path)
    status: grpc.StatusCode = await send(request).code()
    return status
