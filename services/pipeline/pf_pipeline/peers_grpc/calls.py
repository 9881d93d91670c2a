"""Calls of other services."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from google.protobuf.message import Message
from grpc import aio

from paddleflow.status import problem_of
from pf_kit.auth import ON_BEHALF_OF

Metadata = Callable[[], Sequence[tuple[str, str]]]
"""With the token of this service."""
A = TypeVar("A", bound=Message)


def behalf(metadata: Metadata, user: str) -> Sequence[tuple[str, str]]:
    """The metadata of a call in the name of a user."""
    return (*metadata(), (ON_BEHALF_OF, user))


async def call(
    method: Callable[..., Awaitable[object]],
    request: Message,
    reply: type[A],
    metadata: Sequence[tuple[str, str]],
    seconds: float,
) -> A:
    """The reply of another service. Raises its problem."""
    try:
        found = await method(request, metadata=metadata, timeout=seconds)
    except aio.AioRpcError as error:
        raise problem_of(error) from None
    if not isinstance(found, reply):
        raise TypeError(f"{type(found).__name__} is no {reply.__name__}")
    return found
