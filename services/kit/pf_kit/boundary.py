"""Where every call enters and leaves a server, whatever its method and kind.

The order, in `serving`: auth → limits → span → log → errors. Each handler is wrapped once, when the server starts: what
the boundary costs for each call is what it does for it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import grpc

from paddleflow.problems import Overloaded, ShuttingDown
from pf_kit.access import Access, Rule
from pf_kit.auth import AUTHORIZATION, Authenticator, Metadata
from pf_kit.clock import SystemClock
from pf_kit.forward import FORWARDED, Forwarder, Origins
from pf_kit.limits import OVERLOADED, Limit
from pf_kit.log import Ration
from pf_kit.principal import ANONYMOUS, Principal
from pf_kit.served import KNOWN, Known, Method
from pf_kit.serving import Handler, refusing, serving, serving_known
from pf_kit.telemetry import RpcMetrics
from pf_kit.tracing import Tracing

STRANGERS_LINES = 20
"""Lines in the log, in one second, about calls of strangers; the metrics count all of them."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the boundary does its work with."""

    domain: str
    rules: Mapping[str, Rule]
    official: Mapping[str, Rule]
    """The methods of health and reflection: for anyone, in small numbers, also while the server is full or drains."""
    authenticator: Authenticator
    calls: Limit
    streams: Limit
    official_calls: Limit
    official_streams: Limit
    metrics: RpcMetrics
    tracing: Tracing
    origins: Origins
    forwarder: Forwarder
    longest_call: float
    slow_call: float


@dataclass(frozen=True, slots=True)
class _Wrapped:
    """The ways to answer a method."""

    handler: Handler
    known: Handler | None
    """For callers who are known; None if the method does not ask who calls, or if it is a stream."""
    overloaded: Handler
    closing: Handler
    """These two answer without reading the request."""
    forwarding: Handler | None
    """Answers with what the leader answers; None for methods that any instance can answer."""
    limit: Limit


class Boundary(grpc.GenericRpcHandler):
    """Finds the handler of a call, with everything around it; nothing is found that has no rule.

    This is not a `ServerInterceptor`: those are run by gRPC as a chain of coroutines for each call, only to come to the
    same handler each time.
    """

    def __init__(self, surroundings: Surroundings, services: Iterable[grpc.GenericRpcHandler]) -> None:
        self._surroundings = surroundings
        self._closing = False
        self._strangers = Ration(STRANGERS_LINES, SystemClock())
        wrapped = ((path, self._wrap(path, tuple(services))) for path in (*surroundings.rules, *surroundings.official))
        self._wrapped = {path: each for path, each in wrapped if each is not None}

    def close(self) -> None:
        """From now on tells every caller to try again, but answers on its health; calls under way go on."""
        self._closing = True

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Handler | None:
        wrapped = self._wrapped.get(handler_call_details.method)
        if wrapped is None:
            return None
        if self._closing:
            return wrapped.closing
        if wrapped.limit.full:
            return wrapped.overloaded
        if wrapped.forwarding is not None and not self._surroundings.forwarder.leading:
            return wrapped.forwarding
        if wrapped.known is not None and self._is_known(handler_call_details.invocation_metadata):
            return wrapped.known
        return wrapped.handler

    def _is_known(self, sent: Sequence[tuple[str, str | bytes]]) -> bool:
        """True if the caller is known; then the task that asks, which will run the handler, is told who it is."""
        # Quicker than `dict(sent)`, which makes a list of each pair that is a named tuple, as those of gRPC are.
        metadata = {pair[0]: pair[1] for pair in sent}
        principal = self._surroundings.authenticator.recall(metadata) if len(metadata) == len(sent) else None
        if principal is None:
            return False
        KNOWN.set(Known(metadata, principal, time.monotonic()))
        return True

    def _wrap(self, path: str, services: Sequence[grpc.GenericRpcHandler]) -> _Wrapped | None:
        handler = _found(path, services)
        if handler is None:
            return None
        method = self._method(path)
        forward = self._surroundings.forwarder.handler(path, handler) if method.rule.leader else None
        served = serving(method, handler)
        one = not method.rule.streaming and method.rule.access is not Access.ANYONE
        return _Wrapped(
            handler=served,
            known=serving_known(method, handler) if one else None,
            overloaded=refusing(method, partial(Overloaded, retry_after=OVERLOADED)),
            closing=served if path in self._surroundings.official else refusing(method, ShuttingDown),
            forwarding=serving(method, forward) if forward is not None else None,
            limit=method.limit,
        )

    def _limit(self, rule: Rule, *, official: bool) -> Limit:
        around = self._surroundings
        calls, streams = (
            (around.official_calls, around.official_streams) if official else (around.calls, around.streams)
        )
        return streams if rule.streaming else calls

    def _origin(self, metadata: Metadata) -> str:
        said = metadata.get(FORWARDED, "")
        return self._surroundings.origins.read(said, metadata.get(AUTHORIZATION, "")) if said else ""

    def _method(self, path: str) -> Method:
        around = self._surroundings
        official = path in around.official
        rule = around.official[path] if official else around.rules[path]
        return Method(
            path=path,
            rule=rule,
            domain=around.domain,
            who=_nobody if rule.access is Access.ANYONE else around.authenticator.authenticate,
            origin=self._origin if rule.leader else _itself,
            limit=self._limit(rule, official=official),
            metrics=around.metrics.method(path),
            tracing=around.tracing,
            longest=float("inf") if rule.streaming else around.longest_call,
            slow=float("inf") if rule.streaming else around.slow_call,
            strangers=self._strangers,
        )


@dataclass(frozen=True, slots=True)
class _Details(grpc.HandlerCallDetails):
    """Asks for a handler without a call."""

    method: str
    invocation_metadata: tuple[tuple[str, str | bytes], ...] = ()


def _found(path: str, services: Iterable[grpc.GenericRpcHandler]) -> Handler | None:
    """The handler of the servicers; None if they know no such method."""
    handlers = (service.service(_Details(path)) for service in services)
    return next((handler for handler in handlers if handler is not None), None)


async def _nobody(_: Metadata) -> Principal:
    """For methods that anyone may call: they are not kept from it by an old token."""
    return ANONYMOUS


def _itself(_: Metadata) -> str:
    """For methods that are never handed on."""
    return ""
