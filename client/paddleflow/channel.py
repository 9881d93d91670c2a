"""Connections to a service: its address, TLS, and when calls are tried again."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TypeAlias

import grpc
from grpc import aio

Options: TypeAlias = list[tuple[str, str | int]]

MAX_MESSAGE_BYTES = 4 * 1024 * 1024

# Four tries within about two seconds bridge a restart; the throttle (a failure costs a token, a success gives back a
# tenth) ends retries when most calls fail, so that they do not keep a struggling server down.
SERVICE_CONFIG = json.dumps(
    {
        "loadBalancingConfig": [{"round_robin": {}}],
        "methodConfig": [
            {
                "name": [{}],
                "retryPolicy": {
                    "maxAttempts": 4,
                    "initialBackoff": "0.2s",
                    "maxBackoff": "2s",
                    "backoffMultiplier": 3,
                    # A server that stops ends calls that it has received but not begun as CANCELLED.
                    "retryableStatusCodes": ["UNAVAILABLE", "CANCELLED"],
                },
            }
        ],
        "retryThrottling": {"maxTokens": 100, "tokenRatio": 0.1},
    }
)

CONNECTION: Options = [
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    # A server that went away without a word is noticed within 30 s; the server allows a ping each 10 s.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # The default backs off to two minutes, long after a restarted server is back.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 2_000),
    ("grpc.max_reconnect_backoff_ms", 2_000),
]

RETRIES: Options = [("grpc.service_config", SERVICE_CONFIG)]
NO_RETRIES: Options = [("grpc.enable_retries", 0)]

_HOST_AND_PORT = re.compile(r"(?:\[[0-9A-Fa-f:.%]+\]|[^\s:/\[\]]+):(?P<port>[0-9]{1,5})")
_SCHEMES = ("dns:", "ipv4:", "ipv6:")


@dataclass(frozen=True, slots=True)
class Tls:
    """How to trust a server, and how to prove oneself to it."""

    ca: bytes | None = None
    """Certificates (PEM) of those whom to trust; None trusts those that gRPC brings."""
    certificate: bytes | None = None
    """Own certificate chain (PEM), for servers that ask for one."""
    key: bytes | None = None
    """Private key (PEM) of the certificate."""
    server_name: str = ""
    """The name in the server's certificate, if it is not the host of the address."""


def target(address: str) -> str:
    """What gRPC calls this address; ValueError if it is none.

    An address is ``host:port``, ``unix:/path/of/socket``, or one of gRPC's own ``dns:``, ``ipv4:`` and ``ipv6:``.
    """
    if address.startswith("unix:"):
        path = address.removeprefix("unix:").removeprefix("//")
        if not path.startswith("/"):
            raise ValueError(f"{address!r} does not name an absolute path, as in unix:/run/paddleflow/queue.sock")
        return f"unix:{path}"
    if address.startswith(_SCHEMES):
        return address
    match = _HOST_AND_PORT.fullmatch(address)
    if match is None or not 0 < int(match["port"]) < 65536:
        raise ValueError(f"{address!r} is not an address; write host:port or unix:/path/of/socket")
    return f"dns:///{address}"


def open_channel(address: str, tls: Tls | None) -> aio.Channel:
    """A channel for asyncio programs; without TLS if `tls` is None. It connects when it is first used."""
    return _open(address, tls, RETRIES)


def open_channel_without_retries(address: str, tls: Tls | None) -> aio.Channel:
    """A channel for calls that are handed on: their caller tries again by itself, and twice would be too often."""
    return _open(address, tls, NO_RETRIES)


def open_blocking_channel(address: str, tls: Tls | None) -> grpc.Channel:
    """A channel for programs with threads; otherwise like `open_channel`."""
    options = [*CONNECTION, *RETRIES, *_name(tls)]
    if tls is None:
        return grpc.insecure_channel(target(address), options=options)
    return grpc.secure_channel(target(address), _credentials(tls), options=options)


def _open(address: str, tls: Tls | None, retries: Options) -> aio.Channel:
    options = [*CONNECTION, *retries, *_name(tls)]
    if tls is None:
        return aio.insecure_channel(target(address), options=options)
    return aio.secure_channel(target(address), _credentials(tls), options=options)


def _credentials(tls: Tls) -> grpc.ChannelCredentials:
    return grpc.ssl_channel_credentials(tls.ca, tls.key, tls.certificate)


def _name(tls: Tls | None) -> Options:
    return [("grpc.ssl_target_name_override", tls.server_name)] if tls and tls.server_name else []
