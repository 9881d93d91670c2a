"""Calls that only the leader can answer: an instance that does not lead hands them on, byte for byte."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from hashlib import blake2b
from hmac import compare_digest
from typing import Any, Protocol, TypeAlias

import grpc
from grpc import aio

from paddleflow.problems import NoLeader
from paddleflow.status import DETAILS_KEY
from pf_kit.auth import AUTHORIZATION
from pf_kit.served import Context

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"

FORWARDED = "x-paddleflow-forwarded"
"""Marks a call that has been handed on once, and tells where it came from. It is not handed on again: two instances
that each take the other for the leader would send it round for ever."""

GRACE = 30.0
"""Seconds for which calls to a former leader may go on: as long as any call may last."""

# What belongs to one connection, or is set anew for the next one.
_HOP = frozenset({"user-agent", "content-type", "te"})


class Leader(Protocol):
    """Knows who holds the leader's lease."""

    @property
    def leading(self) -> bool:
        """True if this instance holds it."""

    async def address(self) -> str:
        """Where its holder serves; raises NoLeader if nobody holds it."""


class AlwaysLeading:
    """For services whose instances are all alike."""

    leading = True

    async def address(self) -> str:
        raise NoLeader


class Origins:
    """Where calls came from that were handed on: the audit log shall name the caller's address, not the instance's.

    Anybody can claim an address. That of a caller counts only with a keyed hash over it and the caller's token, which
    needs a secret that the instances share.
    """

    def __init__(self, secret: bytes) -> None:
        self._key = blake2b(secret, digest_size=32, person=b"origins of calls").digest()

    def told(self, peer: str, authorization: str | bytes) -> str:
        """What to say of a call that came from this peer."""
        return f"{self._mac(peer, authorization)} {peer}"

    def read(self, said: str | bytes, authorization: str | bytes) -> str:
        """The peer that an instance has told; empty if it was none."""
        mac, _, peer = said.partition(" ") if isinstance(said, str) else ("", "", "")
        return peer if compare_digest(mac.encode(), self._mac(peer, authorization).encode()) else ""

    def _mac(self, peer: str, authorization: str | bytes) -> str:
        token = authorization.encode() if isinstance(authorization, str) else authorization
        return blake2b(peer.encode() + b"\0" + token, key=self._key, digest_size=16).hexdigest()


class Forwarder:
    """Hands calls on to the leader."""

    def __init__(self, leader: Leader, origins: Origins, open_channel: Callable[[str], aio.Channel]) -> None:
        self._leader = leader
        self._origins = origins
        self._open_channel = open_channel
        self._address = ""
        self._channel: aio.Channel | None = None
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def leading(self) -> bool:
        return self._leader.leading

    def handler(self, path: str, handler: Handler) -> Handler:
        """Answers a method with what the leader answers."""
        if handler.request_streaming or handler.response_streaming:
            raise TypeError(f"{path} is a stream; only single calls can be handed on to the leader")

        async def forward(request: bytes, context: Context) -> bytes:
            metadata = context.invocation_metadata() or ()
            if any(key == FORWARDED for key, _ in metadata):
                raise NoLeader
            channel = self._channel_to(await self._leader.address())
            remaining: float | None = context.time_remaining()
            send: aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(path)
            origin = self._origins.told(context.peer(), dict(metadata).get(AUTHORIZATION, ""))
            call = send(request, timeout=remaining, metadata=_handed_on(metadata, origin))
            return await _answer(call, context)

        return grpc.unary_unary_rpc_method_handler(forward)

    async def close(self) -> None:
        """Cuts off what is still under way."""
        if self._channel is not None:
            await self._channel.close()
        for closing in self._closing:
            closing.cancel()
        await asyncio.gather(*self._closing, return_exceptions=True)

    def _channel_to(self, address: str) -> aio.Channel:
        if self._channel is None or self._address != address:
            if self._channel is not None:
                # What is under way to the former leader may still be answered.
                closing = asyncio.create_task(_close_later(self._channel))
                self._closing.add(closing)
                closing.add_done_callback(self._closing.discard)
            self._channel, self._address = self._open_channel(address), address
        return self._channel


async def _close_later(channel: aio.Channel) -> None:
    """By itself, since a close of gRPC's with a grace cannot be hurried."""
    try:
        await asyncio.sleep(GRACE)
    finally:
        await channel.close()


def _handed_on(metadata: Iterable[tuple[str, str | bytes]], origin: str) -> aio.Metadata:
    kept = ((key, value) for key, value in metadata if key not in _HOP and not key.startswith(("grpc-", ":")))
    return aio.Metadata(*kept, (FORWARDED, origin))


async def _answer(call: aio.UnaryUnaryCall[bytes, bytes], context: Context) -> bytes:
    """The leader's answer, or its failure, word for word."""
    try:
        return await call
    except aio.AioRpcError as error:
        trailing = tuple(error.trailing_metadata())
        if error.code() is grpc.StatusCode.UNAVAILABLE and DETAILS_KEY not in dict(trailing):
            raise NoLeader from None
        await context.abort(error.code(), error.details() or "", trailing)
