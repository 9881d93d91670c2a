"""Nothing is served that has no rule, or a rule that cannot be kept."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc import aio

from paddleflow.channel import open_channel_without_retries
from paddleflow.common.v1 import access_pb2
from pf_kit.access import MissingRule
from pf_kit.server import ServiceServer
from support.kit_client import raw_code, settings
from support.kit_echo.app import Echo

PATH = "paddleflow/common/v1/access.proto"
ANYONE = access_pb2.Rule(access=access_pb2.ACCESS_ANYONE)
LED = access_pb2.Rule(access=access_pb2.ACCESS_USER, leader=True)


async def answer(request: bytes, _context: object) -> bytes:
    return request


def server_with(package: str, rule: access_pb2.Rule, *, streaming: bool) -> ServiceServer:
    """A server of a service with the method Do of this rule, and with a method Undeclared that no proto has."""
    file = FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3", dependency=[PATH])
    file.message_type.add(name="Empty")
    method = file.service.add(name="Careless").method.add(name="Do", server_streaming=streaming)
    method.input_type = method.output_type = f".{package}.Empty"
    if rule.access:
        method.options.Extensions[access_pb2.rule].CopyFrom(rule)
    descriptor_pool.Default().AddSerializedFile(file.SerializeToString())
    make: Any = grpc.unary_stream_rpc_method_handler if streaming else grpc.unary_unary_rpc_method_handler
    handlers = {"Do": make(answer), "Undeclared": grpc.unary_unary_rpc_method_handler(answer)}
    server, _ = Echo(settings()).build()

    def register(_: None, to: aio.Server) -> None:
        to.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(f"{package}.Careless", handlers),))

    server.add(register, None)
    return server


@pytest.mark.parametrize(
    ("package", "rule", "streaming", "error", "text"),
    [
        ("unruled", access_pb2.Rule(), False, MissingRule, r"unruled\.Careless\.Do has no access rule"),
        ("led", LED, True, TypeError, r"/led\.Careless/Do is a stream"),
    ],
)
async def test_a_server_does_not_start_with_a_rule_it_cannot_keep(
    package: str, rule: access_pb2.Rule, streaming: bool, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        async with server_with(package, rule, streaming=streaming).serving():
            pass


async def test_a_method_that_no_proto_declares_is_not_served() -> None:
    server = server_with("declared", ANYONE, streaming=False)
    async with server.serving(), open_channel_without_retries(server.addresses[0], None) as channel:
        assert await raw_code(channel, "/declared.Careless/Do", b"x") is grpc.StatusCode.OK
        assert await raw_code(channel, "/declared.Careless/Undeclared", b"x") is grpc.StatusCode.UNIMPLEMENTED
