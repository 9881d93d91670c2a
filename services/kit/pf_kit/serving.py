"""A handler with everything around it: auth → limits → span → log → errors, each of which `Served` does.

For gRPC these handlers take a stream, so that it hands over a call before the request has come: strangers are refused
without their request being read, and what waits for a request counts and ends like every other call. Only callers who
are known beforehand get a handler for which gRPC itself reads the request, since that is what most calls are and it
takes less time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from inspect import isasyncgenfunction
from typing import Any, TypeAlias, cast

import grpc
from google.protobuf.message import DecodeError

from paddleflow.problems import DeadlineExceeded, InvalidArgument, Problem, WatchTooSlow
from pf_kit.auth import read_metadata
from pf_kit.served import KNOWN, Context, Method, Served

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Parse: TypeAlias = Callable[[bytes], object]
Answer: TypeAlias = Callable[[object, Context], Awaitable[object]]
Tell: TypeAlias = Callable[[object, Context], AsyncGenerator[object, None]]

LATE = 1.0
"""Seconds after which a known caller is looked at again, when its request comes: its token may have been revoked."""
READ_SECONDS = 10.0
"""How long the request of a stream may take to come. That of a call has as long as the call."""
WRITE_SECONDS = 60.0
"""How long a caller may take to read one message of a stream: its token is not looked at meanwhile. The call is over
only when the caller has read that message after all, or is gone: gRPC cuts off nobody, so that it counts till then."""


def serving(method: Method, handler: Handler) -> Handler:
    """The handler with everything around it."""
    return _stream(method, handler) if handler.response_streaming else _call(method, handler)


def serving_known(method: Method, handler: Handler) -> Handler:
    """The handler with everything around it, for one request of a caller who is known already."""
    work, parse = cast("Answer", handler.unary_unary), handler.request_deserializer or bytes

    async def serve(raw: bytes, context: Context) -> object:
        served = Served(method, context)
        try:
            served.enter()
            known = KNOWN.get()
            late = served.started - known.since > LATE
            served.begin(known.metadata, await method.who(known.metadata) if late else known.principal)
            if served.hurried:
                return await served.in_time(work(_parsed(parse, raw), context))
            return await work(_parsed(parse, raw), context)
        except BaseException as error:  # noqa: BLE001  # the one place where every error gets its status
            await served.fail(error)
        finally:
            served.end()

    return grpc.unary_unary_rpc_method_handler(serve, None, handler.response_serializer)


def _call(method: Method, handler: Handler) -> Handler:
    work, parse = cast("Answer", handler.unary_unary), handler.request_deserializer or bytes

    async def answer(context: Context) -> object:
        return await work(_parsed(parse, await context.read()), context)

    async def serve(_: object, context: Context) -> object:
        served = Served(method, context)
        try:
            served.enter()
            metadata = read_metadata(tuple(context.invocation_metadata() or ()))
            served.begin(metadata, await method.who(metadata))
            return await (served.in_time(answer(context)) if served.hurried else answer(context))
        except BaseException as error:  # noqa: BLE001  # as above
            await served.fail(error)
        finally:
            served.end()

    return grpc.stream_unary_rpc_method_handler(serve, None, handler.response_serializer)


def _stream(method: Method, handler: Handler) -> Handler:
    tell = _teller(handler)

    # Writes by itself instead of being a generator: then a caller's leave is raised here, also during a write.
    async def serve(requests: object, context: Context) -> None:
        served = Served(method, context)
        try:
            served.enter()
            metadata = read_metadata(tuple(context.invocation_metadata() or ()))
            served.begin(metadata, await method.who(metadata))
            await tell(requests, context)
        except BaseException as error:  # noqa: BLE001  # as above
            await served.fail(error)
        finally:
            served.end()

    parse = handler.request_deserializer if handler.request_streaming else None
    return grpc.stream_stream_rpc_method_handler(serve, parse, handler.response_serializer)


def _teller(handler: Handler) -> Answer:
    """Answers with a stream, however the handler does it: as a generator, or by writing itself."""
    work = handler.stream_stream if handler.request_streaming else handler.unary_stream
    parse = handler.request_deserializer or bytes

    async def asked(requests: object, context: Context) -> object:
        return requests if handler.request_streaming else await _first(parse, context)

    async def generate(requests: object, context: Context) -> None:
        async with aclosing(cast("Tell", work)(await asked(requests, context), context)) as messages:
            async for message in messages:
                await _write(message, context)

    async def write(requests: object, context: Context) -> None:
        await cast("Answer", work)(await asked(requests, context), context)

    return generate if isasyncgenfunction(work) else write


async def _first(parse: Parse, context: Context) -> object:
    """The request of a stream."""
    try:
        async with asyncio.timeout(READ_SECONDS):
            raw = await context.read()
    except TimeoutError:
        raise DeadlineExceeded(f"The request did not come within {READ_SECONDS:g} s.") from None
    return _parsed(parse, raw)


async def _write(message: object, context: Context) -> None:
    try:
        async with asyncio.timeout(WRITE_SECONDS):
            await context.write(message)
    except TimeoutError:
        raise WatchTooSlow from None


def _parsed(parse: Parse, raw: object) -> object:
    """The request; not parsed by gRPC, which would fail without a proper status."""
    if not isinstance(raw, bytes):
        raise InvalidArgument("The call has no request.")
    try:
        return parse(raw)
    except DecodeError:
        raise InvalidArgument("The request is not a message of this method.") from None


def refusing(method: Method, problem: Callable[[], Problem]) -> Handler:
    """Refuses a call at once."""

    async def refuse(_: object, context: Context) -> None:
        served = Served(method, context)
        try:
            await served.fail(problem())
        finally:
            served.end()

    return grpc.stream_unary_rpc_method_handler(refuse)
