"""Calls any method of a service, the queue service if no other is named; which method is told by its request."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc import aio

from paddleflow.auth.v1 import auth_pb2
from paddleflow.common.v1 import event_pb2, info_pb2
from paddleflow.queue.v1 import admission_pb2, cluster_pb2, queue_pb2
from paddleflow.status import problem_of

PATIENCE = 20.0
"""Seconds for one call, and for one watch."""
FILES = (auth_pb2, event_pb2, info_pb2, cluster_pb2, queue_pb2, admission_pb2)
SERVICES: tuple[ServiceDescriptor, ...] = tuple(
    service for file in FILES for service in file.DESCRIPTOR.services_by_name.values()
)


def methods_of(services: Iterable[ServiceDescriptor]) -> Mapping[str, MethodDescriptor]:
    """By the full name of their request."""
    return {method.input_type.full_name: method for service in services for method in service.methods}


METHODS = methods_of(SERVICES)


def path_of(method: MethodDescriptor) -> str:
    return f"/{method.containing_service.full_name}/{method.name}"


@dataclass(frozen=True)
class Caller:
    """Somebody with a token, or without."""

    channel: aio.Channel
    secret: str = ""
    on_behalf_of: str = ""
    methods: Mapping[str, MethodDescriptor] = field(default_factory=lambda: METHODS)

    async def __call__(self, request: Message) -> Any:
        """The reply. Raises the problem that the server answers."""
        method = self.methods[request.DESCRIPTOR.full_name]
        call: aio.UnaryUnaryMultiCallable[Message, Any] = self.channel.unary_unary(
            path_of(method), lambda message: message.SerializeToString(), GetMessageClass(method.output_type).FromString
        )
        try:
            return await call(request, metadata=self._metadata(), timeout=PATIENCE)
        except aio.AioRpcError as error:
            raise problem_of(error) from None

    async def watch(self, request: Message) -> AsyncGenerator[Any, None]:
        """The messages of a stream. Raises the problem that ends it."""
        method = self.methods[request.DESCRIPTOR.full_name]
        begin: aio.UnaryStreamMultiCallable[Message, Any] = self.channel.unary_stream(
            path_of(method), lambda message: message.SerializeToString(), GetMessageClass(method.output_type).FromString
        )
        stream = begin(request, metadata=self._metadata(), timeout=PATIENCE)
        try:
            async for message in stream:
                yield message
        except aio.AioRpcError as error:
            raise problem_of(error) from None
        finally:
            stream.cancel()

    async def pages(self, request: Message, field: str) -> AsyncGenerator[list[Any], None]:
        """The pages of a list, each with the things of this field."""
        page: Any = type(request)()
        page.CopyFrom(request)
        while True:
            reply = await self(page)
            yield list(getattr(reply, field))
            if not reply.next_page_token:
                return
            page.page_token = reply.next_page_token

    async def all(self, request: Message, field: str) -> list[Any]:
        """All things of a list, however many pages it has."""
        return [thing async for page in self.pages(request, field) for thing in page]

    def _metadata(self) -> tuple[tuple[str, str], ...]:
        token = (("authorization", f"Bearer {self.secret}"),) if self.secret else ()
        return (*token, ("x-paddleflow-on-behalf-of", self.on_behalf_of)) if self.on_behalf_of else token
