"""Where every call enters and leaves a server, whatever its method and kind.

The order, in `Served`: auth → limits → span → log → errors. Each handler is wrapped once, when its method is first
called, and kept: what the boundary costs for each call is what it does for it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, cast

import grpc
from google.protobuf.message import DecodeError

from paddleflow.problems import InvalidArgument, Overloaded, Problem, ShuttingDown
from pf_kit.access import Access, Rule
from pf_kit.auth import Authenticator, Metadata, read_metadata
from pf_kit.forward import Forwarder
from pf_kit.limits import OVERLOADED, Limit
from pf_kit.principal import ANONYMOUS, Principal
from pf_kit.served import SENT, Context, Method, Served
from pf_kit.telemetry import RpcMetrics
from pf_kit.tracing import Tracing

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"

NO_MESSAGE = "The request is not a message of this method."


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the boundary does its work with."""

    domain: str
    rules: Mapping[str, Rule]
    authenticator: Authenticator
    calls: Limit
    streams: Limit
    metrics: RpcMetrics
    tracing: Tracing
    forwarder: Forwarder
    longest_call: float
    slow_call: float


@dataclass(frozen=True, slots=True)
class _Wrapped:
    """The ways to answer a method."""

    handler: Handler
    overloaded: Handler
    closing: Handler
    """These two answer without reading the request."""
    forwarding: Handler | None
    """Answers with what the leader answers; None for methods that any instance can answer."""
    limit: Limit


class Boundary(grpc.GenericRpcHandler):
    """Finds the handler of a call, with everything around it.

    The exempt methods, such as those of health, are found as they are. This is not a `ServerInterceptor`: those are run
    by gRPC as a chain of coroutines for each call, only to come to the same handler each time.
    """

    def __init__(self, surroundings: Surroundings, services: Iterable[grpc.GenericRpcHandler]) -> None:
        self._surroundings = surroundings
        self._services = tuple(services)
        self._wrapped: dict[str, _Wrapped] = {}
        self._closing = False

    def close(self) -> None:
        """From now on tells every caller to try again; calls under way go on."""
        self._closing = True

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Handler | None:
        path = handler_call_details.method
        wrapped = self._wrapped.get(path)
        if wrapped is None:
            handler = self._bare(handler_call_details)
            # Unknown methods are not kept: callers could make up any number of names.
            if handler is None or path not in self._surroundings.rules:
                return handler
            wrapped = self._wrapped[path] = self._wrap(path, handler)
        # Set in the task that will run the handler: gRPC does both in one.
        SENT.set(handler_call_details.invocation_metadata)
        if self._closing:
            return wrapped.closing
        if wrapped.limit.full:
            return wrapped.overloaded
        if wrapped.forwarding is not None and not self._surroundings.forwarder.leading:
            return wrapped.forwarding
        return wrapped.handler

    def _bare(self, details: grpc.HandlerCallDetails) -> Handler | None:
        found = (service.service(details) for service in self._services)
        return next((handler for handler in found if handler is not None), None)

    def _wrap(self, path: str, handler: Handler) -> _Wrapped:
        method = self._method(path)
        forward = self._surroundings.forwarder.handler(path, handler) if method.rule.leader else None
        return _Wrapped(
            handler=_served(method, handler),
            overloaded=_refusing(method, partial(Overloaded, retry_after=OVERLOADED)),
            closing=_refusing(method, ShuttingDown),
            forwarding=_served(method, forward) if forward is not None else None,
            limit=method.limit,
        )

    def _method(self, path: str) -> Method:
        around = self._surroundings
        rule = around.rules[path]
        return Method(
            path=path,
            rule=rule,
            domain=around.domain,
            who=_nobody if rule.access is Access.ANYONE else around.authenticator.authenticate,
            limit=around.streams if rule.streaming else around.calls,
            metrics=around.metrics.method(path),
            tracing=around.tracing,
            longest=float("inf") if rule.streaming else around.longest_call,
            slow=float("inf") if rule.streaming else around.slow_call,
        )


def _served(method: Method, handler: Handler) -> Handler:
    """The handler with everything around it."""
    if handler.response_streaming:
        return _serving_stream(method, handler)
    work = cast("Callable[[object, Context], Awaitable[object]]", handler.unary_unary)
    who, parse = method.who, handler.request_deserializer or bytes

    async def serve(raw: bytes, context: Context) -> object:
        served = Served(method, context)
        try:
            served.enter()
            metadata = read_metadata(SENT.get())
            served.begin(metadata, await who(metadata))
            try:
                request = parse(raw)
            except DecodeError:
                raise InvalidArgument(NO_MESSAGE) from None
            if served.hurried:
                return await served.in_time(work(request, context))
            return await work(request, context)
        except BaseException as error:  # noqa: BLE001  # the one place where every error gets its status
            await served.fail(error)
        finally:
            served.end()

    # The request is parsed here and not by gRPC, which would do so for strangers too, and fail without a proper status.
    return grpc.unary_unary_rpc_method_handler(serve, None, handler.response_serializer)


def _serving_stream(method: Method, handler: Handler) -> Handler:
    work = cast("Callable[[object, Context], AsyncGenerator[object, None]]", handler.unary_stream)
    who, parse = method.who, handler.request_deserializer or bytes

    # Writes by itself instead of being a generator: then a caller's leave is raised here, also during a write.
    async def serve(raw: bytes, context: Context) -> None:
        served = Served(method, context)
        try:
            served.enter()
            metadata = read_metadata(SENT.get())
            served.begin(metadata, await who(metadata))
            try:
                request = parse(raw)
            except DecodeError:
                raise InvalidArgument(NO_MESSAGE) from None
            async with aclosing(work(request, context)) as messages:
                async for message in messages:
                    await context.write(message)
        except BaseException as error:  # noqa: BLE001  # as above
            await served.fail(error)
        finally:
            served.end()

    return grpc.unary_stream_rpc_method_handler(serve, None, handler.response_serializer)


async def _nobody(_: Metadata) -> Principal:
    """For methods that anyone may call: they are not kept from it by an old token."""
    return ANONYMOUS


def _refusing(method: Method, problem: Callable[[], Problem]) -> Handler:
    """Refuses a call. For gRPC it takes a stream, so that the request is neither awaited nor parsed."""

    async def refuse(_: object, context: Context) -> None:
        served = Served(method, context)
        try:
            await served.fail(problem())
        finally:
            served.end()

    return grpc.stream_unary_rpc_method_handler(refuse)
