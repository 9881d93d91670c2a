"""Asks a service whether it serves. A program of its own, so that the supervisor needs no gRPC.

Usage: python -m pf_stack.health TARGET; ends as soon as the service says yes.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

READY = "readiness"
"""What services call their being ready for calls."""
POLL_SECONDS = 0.03
CALL_SECONDS = 2.0


def is_serving(channel: grpc.Channel) -> bool:
    """True if the service at the other end of the channel is ready for calls."""
    # The type stubs leave its methods out.
    health: Any = health_pb2_grpc.HealthStub(channel)
    try:
        response = health.Check(health_pb2.HealthCheckRequest(service=READY), timeout=CALL_SECONDS)
    except grpc.RpcError:
        return False
    return bool(response.status == health_pb2.HealthCheckResponse.SERVING)


def main() -> None:
    with grpc.insecure_channel(sys.argv[1], options=[("grpc.max_reconnect_backoff_ms", 50)]) as channel:
        while not is_serving(channel):
            time.sleep(POLL_SECONDS)


if __name__ == "__main__":
    main()
