"""What surrounds each call: limits, the log without secrets, and refusals as the caller understands them."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, cast

import grpc
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from grpc import aio

from pf_csi.refusals import Refusal, Why, of_error
from pf_kit.telemetry import MethodMetrics, RpcMetrics

logger = logging.getLogger(__name__)

_QUIET = ("/csi.v1.Identity/", "/csi.v1.Node/NodeGetCapabilities", "/csi.v1.Controller/ControllerGetCapabilities")
"""Asked again and again."""
LONGEST_TEXT = 4096
LONGEST_MAP = 64 << 10
"""Bytes of all names and texts; certificates and tokens may be among them."""
_TOLD = {"volume_id": "volume", "target_path": "target", "volume_path": "path", "name": "volume_name"}

Handling = Callable[[Any, aio.ServicerContext[Any, Any]], Awaitable[Any]]


class Boundary(aio.ServerInterceptor):
    """Surrounds all methods of a server."""

    def __init__(self, calls: RpcMetrics) -> None:
        self._calls = calls

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        handler = await continuation(handler_call_details)
        if handler is None or handler.unary_unary is None:
            return handler
        method = handler_call_details.method
        return grpc.unary_unary_rpc_method_handler(
            _surrounded(method, cast("Handling", handler.unary_unary), self._calls.method(method)),
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )


def _surrounded(method: str, handle: Handling, calls: MethodMetrics) -> Handling:
    async def call(request: Message, context: aio.ServicerContext[Any, Any]) -> Any:  # noqa: ANN401  # any answer
        begun, code = time.monotonic(), "CANCELLED"
        try:
            answer = await _answered(method, handle, request, context)
            code = "OK"
        except Refusal as refusal:
            code = refusal.why.value
            logger.warning("refused", extra={**_about(method, request, begun), "code": code, "why": refusal.text})
            return await context.abort(grpc.StatusCode[code], refusal.text)
        finally:
            calls.record(code, time.monotonic() - begun)
        if not method.startswith(_QUIET):
            logger.info("done", extra=_about(method, request, begun))
        return answer

    return call


async def _answered(method: str, handle: Handling, request: Message, context: aio.ServicerContext[Any, Any]) -> object:
    """Refusal whatever is in the way."""
    try:
        _check(request)
        return await handle(request, context)
    except Refusal:
        raise
    except OSError as error:
        raise of_error(error, "it failed on this machine") from error
    except Exception as error:
        mark = secrets.token_hex(8)
        logger.exception("a fault of the driver", extra={"method": method, "fault": mark})
        raise Refusal(Why.FAULT, f"a fault of the driver; its log has more about {mark}") from error


def _about(method: str, request: Message, begun: float) -> dict[str, object]:
    """Never maps and options: they may have secrets."""
    told = {word: getattr(request, name) for name, word in _TOLD.items() if name in request.DESCRIPTOR.fields_by_name}
    return {"method": method, "seconds": round(time.monotonic() - begun, 3), **told}


def _check(request: Message) -> None:
    """Refusal if something is longer than anybody means it to be."""
    for name, value in _texts(request, ""):
        if len(value.encode(errors="surrogatepass")) > LONGEST_TEXT:
            raise Refusal(Why.MALFORMED, f"{name} is longer than {LONGEST_TEXT} bytes")
        if "\0" in value:
            raise Refusal(Why.MALFORMED, f"{name} has a byte of zero")
    for name, size in _maps(request):
        if size > LONGEST_MAP:
            raise Refusal(Why.MALFORMED, f"{name} is larger than {LONGEST_MAP} bytes")


def _texts(message: Message, above: str) -> Iterator[tuple[str, str]]:
    for field, value in message.ListFields():
        name = f"{above}{field.name}"
        if _is_map(field):
            continue
        many = value if field.is_repeated else [value]
        for each in many:
            if field.type == FieldDescriptor.TYPE_STRING:
                yield name, each
            elif field.type == FieldDescriptor.TYPE_MESSAGE:
                yield from _texts(each, f"{name}.")


def _maps(message: Message) -> Iterator[tuple[str, int]]:
    for field, value in message.ListFields():
        if _is_map(field):
            yield field.name, sum(len(name.encode()) + len(text.encode()) for name, text in value.items())


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry
