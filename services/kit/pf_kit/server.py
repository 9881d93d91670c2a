"""A service's gRPC server, put together from its parts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, TypeVar, cast

import grpc
from google.protobuf import descriptor_pool
from grpc import aio
from grpc_health.v1 import health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc
from prometheus_client import CollectorRegistry

from paddleflow.channel import MAX_MESSAGE_BYTES, open_channel_without_retries
from paddleflow.common.v1 import event_pb2_grpc, info_pb2_grpc
from pf_kit.access import official, rules
from pf_kit.admin import AdminPort
from pf_kit.auth import Authenticator
from pf_kit.boundary import Boundary, Surroundings
from pf_kit.forward import Forwarder, Leader, Origins
from pf_kit.health import Health
from pf_kit.limits import Limit, LimitSettings
from pf_kit.listen import listen
from pf_kit.page import PageTokens
from pf_kit.servicers import AuditServicer, EventServicer, InfoServicer
from pf_kit.setting_types import Between
from pf_kit.telemetry import RpcMetrics
from pf_kit.tls import TlsSettings, client_tls, server_credentials
from pf_kit.tracing import Tracing
from pf_kit.unit import Database
from pf_kit.watch import Watches

logger = logging.getLogger(__name__)

S = TypeVar("S")

REFUSING = 0.05
"""Seconds for which a server that drains refuses calls before it stops. gRPC would drop those that it has received but
not begun, as CANCELLED, which few clients try again; what is refused they do try again."""
OFFICIALS = 100
"""Calls of health and reflection at once, and as many streams. They have limits of their own, so that a full server
still tells that it lives, and so that strangers who hold streams keep nobody else out."""
LEAVE = 1.0
"""Seconds after the last call in which watches have ended; other streams are cut off then."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where a server listens, and how long and how much it serves."""

    listen: tuple[str, ...]
    """Addresses to listen on, ``host:port`` or ``unix:/path/of/socket``; port 0 means that one is chosen."""
    admin: str = "127.0.0.1:0"
    """Where ``/metrics``, ``/healthz`` and ``/readyz`` are served over HTTP, as ``host:port``. On loopback, because
    metrics tell what an installation does; port 0 means that one is chosen and logged."""
    longest_call_seconds: Annotated[float, Between(0.1, 3600)] = 30.0
    """The longest that a call may last, whatever its caller allows, so that none is for ever. Watches have no end."""
    slow_call_seconds: Annotated[float, Between(0, 3600)] = 1.0
    """Reads that last longer stand in the log, as all changes and all failures do."""
    grace_seconds: Annotated[float, Between(0, 3600)] = 10.0
    """How long calls under way may go on when the server is told to stop. Kubernetes must wait longer than this."""
    tls: TlsSettings = field(default_factory=TlsSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)


@dataclass(frozen=True, slots=True)
class Service:
    """Which service a server serves, and what it stands on."""

    name: str
    """For example ``queue``."""
    version: str
    installation: str
    database: Database
    authenticator: Authenticator
    watches: Watches
    page_tokens: PageTokens
    secret: bytes
    """Shared by all instances of the service: that of its `Install`."""
    registry: CollectorRegistry
    tracing: Tracing
    leader: Leader


class ServiceServer:
    """Serves the methods of a service, and those that all services have."""

    def __init__(self, settings: ServerSettings, service: Service) -> None:
        self._settings = settings
        self._service = service
        limits = settings.limits
        self._calls = Limit(limits.calls, limits.calls_per_caller)
        self._streams = Limit(limits.streams, limits.streams_per_caller)
        self._health = Health(service.database.log)
        self._handlers = _Handlers()
        self._running: _Running | None = None
        self.addresses: tuple[str, ...] = ()
        """Where it listens, with the ports that were chosen; empty before it does."""
        self.admin_port = 0

    def add(self, register: Callable[[S, aio.Server], None], servicer: S) -> None:
        """Adds a servicer by the generated function ``add_…Servicer_to_server``."""
        register(servicer, cast("aio.Server", self._handlers))

    @property
    def loops(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """What must run beside the server."""
        return {"health": lambda: self._health.run(self._handlers.services), "watches": self._service.watches.run}

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Listens for the block. At its end calls under way are cut off; `drain` lets them finish before."""
        self._add_common()
        admin = AdminPort(self._service.registry, lambda: self._health.ready)
        origins = Origins(self._service.secret)
        forwarder = Forwarder(self._service.leader, origins, self._open_channel)
        boundary = Boundary(self._surroundings(forwarder, origins), self._handlers.handlers)
        server = aio.server(options=_options(self._settings.limits))
        server.add_generic_rpc_handlers((boundary,))
        async with admin.listening(self._settings.admin) as self.admin_port:
            credentials = server_credentials(self._settings.tls)
            self.addresses = tuple(listen(server, self._settings.listen, credentials))
            await server.start()
            self._running = _Running(server, boundary)
            logger.info("serving", extra={"addresses": self.addresses, "admin_port": self.admin_port})
            try:
                yield
            finally:
                await server.stop(None)
                await forwarder.close()

    async def drain(self) -> None:
        """Ends the service without harm: watches end, new calls are refused, those under way finish in the grace."""
        if self._running is None:
            return
        logger.info("draining", extra={"calls": self._calls.under_way, "streams": self._streams.under_way})
        await self._health.drain()
        self._service.watches.close()
        self._running.boundary.close()
        await asyncio.sleep(REFUSING)
        stopping = asyncio.create_task(self._running.server.stop(self._settings.grace_seconds))
        quiet = asyncio.create_task(self._quiet())
        await asyncio.wait([stopping, quiet], return_when=asyncio.FIRST_COMPLETED)
        quiet.cancel()
        await self._running.server.stop(None)
        await stopping

    async def _quiet(self) -> None:
        """Waits until only streams are left that do not end by themselves, such as those that watch the health."""
        while True:
            await self._calls.emptied()
            await asyncio.sleep(LEAVE)
            # Calls that were on their way as the drain began may have arrived meanwhile.
            if not self._calls.under_way:
                return

    def _add_common(self) -> None:
        service = self._service
        info = InfoServicer(service=service.name, version=service.version, installation=service.installation)
        self.add(info_pb2_grpc.add_InfoServiceServicer_to_server, info)
        audit = AuditServicer(service.database, service.page_tokens)
        self.add(info_pb2_grpc.add_AuditServiceServicer_to_server, audit)
        self.add(event_pb2_grpc.add_EventServiceServicer_to_server, EventServicer(service.database.log))
        self.add(health_pb2_grpc.add_HealthServicer_to_server, self._health.servicer)
        reflected = reflection.aio.ReflectionServicer([*self._handlers.services, reflection.SERVICE_NAME])
        self.add(reflection_pb2_grpc.add_ServerReflectionServicer_to_server, reflected)

    def _surroundings(self, forwarder: Forwarder, origins: Origins) -> Surroundings:
        metrics = RpcMetrics(self._service.registry)
        metrics.show("call", self._calls)
        metrics.show("stream", self._streams)
        pool = descriptor_pool.Default()
        services = [pool.FindServiceByName(name) for name in self._handlers.services]
        return Surroundings(
            domain=f"paddleflow.{self._service.name}",
            rules=rules(services),
            official=official(services),
            authenticator=self._service.authenticator,
            calls=self._calls,
            streams=self._streams,
            official_calls=Limit(OFFICIALS, OFFICIALS),
            official_streams=Limit(OFFICIALS, OFFICIALS),
            metrics=metrics,
            tracing=self._service.tracing,
            origins=origins,
            forwarder=forwarder,
            longest_call=self._settings.longest_call_seconds,
            slow_call=self._settings.slow_call_seconds,
        )

    def _open_channel(self, address: str) -> aio.Channel:
        return open_channel_without_retries(address, client_tls(self._settings.tls))


@dataclass(frozen=True, slots=True)
class _Running:
    """A server that listens, and where its calls enter."""

    server: aio.Server
    boundary: Boundary


class _Handlers:
    """Takes the handlers of servicers in a server's stead.

    They are not registered with gRPC method by method: it would wait for each by itself, and every call would cost more
    the more methods there are.
    """

    def __init__(self) -> None:
        self.handlers: list[grpc.ServiceRpcHandler] = []

    def add_generic_rpc_handlers(self, handlers: Iterable[grpc.ServiceRpcHandler]) -> None:
        self.handlers += handlers

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, object]) -> None:
        """Nothing."""

    @property
    def services(self) -> list[str]:
        """Full names of the services."""
        return [handler.service_name() for handler in self.handlers]


def _options(limits: LimitSettings) -> list[tuple[str, int]]:
    """What gRPC itself watches over."""
    return [
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_concurrent_streams", limits.calls + limits.streams),
        # Two servers on one port would each get half of the calls; the second one shall fail instead.
        ("grpc.so_reuseport", 0),
        # A caller that is gone without a word is noticed within a minute and a half.
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 20_000),
        # Clients ping every 20 s; one that does so more often than every 10 s is cut off.
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
    ]
