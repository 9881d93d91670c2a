"""What is known of the RPC that is being served, for whoever serves it."""

from __future__ import annotations

from contextvars import ContextVar
from typing import NamedTuple

from pf_kit.principal import Principal


class Call(NamedTuple):
    """One RPC under way. A tuple, because each call makes one, and a frozen dataclass takes three times as long."""

    method: str
    """For example ``/paddleflow.queue.v1.QueueService/CreateQueue``."""
    principal: Principal
    peer: str
    """The caller's address, as gRPC writes it."""
    trace: str
    """W3C traceparent; empty when the call is not traced."""
    deadline: float
    """When the call must be over, in `time.monotonic` seconds."""


CURRENT: ContextVar[Call] = ContextVar("paddleflow-call")


def current_call() -> Call:
    """The call that the running task serves; LookupError outside of one."""
    return CURRENT.get()


def current_trace() -> str:
    """The trace of the call that the running task serves; empty outside of one."""
    call = CURRENT.get(None)
    return call.trace if call else ""
