"""The echo service put together: what it takes to build a service on the kit."""

from __future__ import annotations

import os
import random
import sys
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry

from pf_kit.auth import TokenAuthenticator, TokenState, TokenStatus
from pf_kit.clock import SystemClock
from pf_kit.forward import AlwaysLeading, Leader
from pf_kit.lifecycle import Level, Program, Stop, run, serve
from pf_kit.memory import MemoryDatabase
from pf_kit.mutation import Mutations
from pf_kit.page import PageTokens
from pf_kit.server import ServerSettings, Service, ServiceServer
from pf_kit.setting_types import Secret
from pf_kit.token_status import CachedTokenStatus
from pf_kit.tokens import Signer, Verifier
from pf_kit.tracing import Tracing
from pf_kit.watch import Watches
from support.kit_echo.servicer import EchoServicer, encode
from support.kit_echo.stubs import echo_pb2_grpc

INSTALLATION = "test-installation"


@dataclass(frozen=True, slots=True)
class EchoSettings:
    """Settings of the echo service."""

    key: Secret
    """The private key that tokens are signed with, in PEM."""
    server: ServerSettings
    log_level: Level = Level.INFO
    """Which lines the log has."""


class Everybody:
    """A token status by which every token of a user is good; the id of a token is its user's name."""

    async def check(self, token_id: str) -> TokenState | None:
        return TokenState(good=True, user=token_id, root=token_id == "root")


@dataclass(slots=True)
class Echo:
    """The service put together."""

    settings: EchoSettings
    leader: Leader = field(default_factory=AlwaysLeading)
    status: TokenStatus = field(default_factory=Everybody)
    bookmark_seconds: float = 5.0
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    servicer: type[EchoServicer] = EchoServicer
    tracing: Tracing = field(default_factory=lambda: Tracing(None, 0, random.random))

    def build(self) -> tuple[ServiceServer, EchoServicer]:
        clock, secret = SystemClock(), b"a secret of the installation"
        signer = Signer(self.settings.key.reveal().encode())
        verifier = Verifier({signer.key_id: signer.public_key}, issuer=INSTALLATION, clock=clock)
        authenticator = TokenAuthenticator(verifier, CachedTokenStatus(self.status, clock), clock)
        database = MemoryDatabase(encode=encode, clock=clock)
        watches = Watches(database, authenticator.recheck, clock, bookmark_seconds=self.bookmark_seconds)
        service = Service(
            name="echo",
            version="1.0",
            installation=INSTALLATION,
            database=database,
            authenticator=authenticator,
            watches=watches,
            page_tokens=PageTokens(secret),
            secret=secret,
            registry=self.registry,
            tracing=self.tracing,
            leader=self.leader,
        )
        server = ServiceServer(self.settings.server, service)
        servicer = self.servicer(database, Mutations(database, secret), watches)
        server.add(echo_pb2_grpc.add_EchoServiceServicer_to_server, servicer)
        return server, servicer


async def main(settings: EchoSettings, stop: Stop) -> None:
    server, _ = Echo(settings).build()
    await serve(server, {}, stop)


if __name__ == "__main__":
    sys.exit(run(Program("echo", "1.0", "PF_ECHO", EchoSettings, main), sys.argv[1:], os.environ))
