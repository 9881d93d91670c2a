"""Connections to a service: its address, TLS, and when calls are tried again."""

from __future__ import annotations

import json
import ssl
from dataclasses import dataclass
from typing import TypeAlias

import grpc
from grpc import aio

from paddleflow.address import target
from paddleflow.problems import InvalidArgument, Violation

Options: TypeAlias = list[tuple[str, str | int]]

MAX_MESSAGE_BYTES = 4 * 1024 * 1024

# A killed service is back after some three seconds. Five tries, the most that gRPC makes, bridge that: the second comes
# soon, the last after 6.4 s (5.1 s when chance takes a fifth off each delay). The throttle (a failure costs a token, a
# success gives back a tenth) ends retries when most calls fail, so that they do not keep a struggling server down.
SERVICE_CONFIG = json.dumps(
    {
        "loadBalancingConfig": [{"round_robin": {}}],
        "methodConfig": [
            {
                "name": [{}],
                "retryPolicy": {
                    "maxAttempts": 5,
                    "initialBackoff": "0.2s",
                    "maxBackoff": "2.7s",
                    "backoffMultiplier": 4,
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

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise _refused("cert", "a certificate (cert) and its private key (key) must be given together")
        for name, pem in (("ca", self.ca), ("cert", self.certificate)):
            if pem is not None and not _holds_certificates(pem):
                raise _refused(name, "holds no certificate in PEM")
        if self.key is not None and b"PRIVATE KEY-----" not in self.key:
            raise _refused("key", "holds no private key in PEM")


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


def _holds_certificates(pem: bytes) -> bool:
    """GRPC itself would only say, call after call, that the server does not answer."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=pem.decode("ascii"))
    except (ssl.SSLError, UnicodeDecodeError, ValueError):
        return False
    return True


def _refused(field: str, description: str) -> InvalidArgument:
    return InvalidArgument.of(Violation(field, description))
