"""A server of gRPC at a Unix socket of this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from grpc import aio

from pf_csi.boundary import Boundary
from pf_csi.gate import gated
from pf_kit.start import CannotStart
from pf_kit.telemetry import RpcMetrics

_MOST = 4 << 20
"""Bytes of a message."""
_GRACE = 10.0

Register = Callable[[aio.Server], None]


@asynccontextmanager
async def serving(path: Path, calls: RpcMetrics, *registers: Register) -> AsyncIterator[None]:
    """Serves for the block, and counts calls. Those under way may finish then, for a while."""
    server = aio.server(interceptors=[Boundary(calls)], options=[("grpc.max_receive_message_length", _MOST)])
    for register in registers:
        register(server)
    try:
        async with gated(path) as inner:
            server.add_insecure_port(inner)
            await server.start()
            try:
                yield
            finally:
                await server.stop(_GRACE)
    except OSError as error:
        raise CannotStart(f"cannot listen at {path}: {error.strerror}") from error
