"""What every service stands on, and what it is made of there, whatever it is about."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources.abc import Traversable

from grpc import aio
from prometheus_client import CollectorRegistry, ProcessCollector

from paddleflow.channel import open_channel
from pf_kit.auth import TokenAuthenticator
from pf_kit.bus.relay import Relay
from pf_kit.bus.stream import RedisStream, open_redis
from pf_kit.call import current_trace
from pf_kit.chores import CHORES, Chores
from pf_kit.clock import SystemClock
from pf_kit.events import Fact
from pf_kit.forward import AlwaysLeading, Leader
from pf_kit.ids import new_id
from pf_kit.joining import Membership, join
from pf_kit.leases import Leadership
from pf_kit.page import PageTokens
from pf_kit.postgres.database import PostgresDatabase
from pf_kit.postgres.install import Install, read_install
from pf_kit.postgres.leases import PostgresLeases
from pf_kit.postgres.migrate import migrate
from pf_kit.postgres.pool import PoolSettings, open_pool
from pf_kit.postgres.positions import PostgresRelayMark
from pf_kit.postgres.sweep import Retention, Sweeper, kit_retentions
from pf_kit.postgres.views import PostgresView
from pf_kit.server import Service
from pf_kit.service_settings import GroundSettings, MemberSettings
from pf_kit.tls import client_tls
from pf_kit.tokens import Signer
from pf_kit.tracing import Tracing, traced
from pf_kit.watch import Watches


@dataclass(frozen=True, slots=True)
class Identity:
    """What tells a service from others."""

    name: str
    """Also the name of its schema in Postgres and of its stream on the bus."""
    version: str
    migrations: Traversable
    """The folder with the migrations of its own tables."""
    encode: Callable[[object], Fact]
    """Makes its events ready to be stored."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What a service stands on."""

    identity: Identity
    view: PostgresView
    database: PostgresDatabase
    install: Install
    tracing: Tracing
    clock: SystemClock


@dataclass(frozen=True, slots=True)
class MemberGround:
    """What a service stands on whose users another one keeps."""

    ground: Ground
    member: Membership
    users: aio.Channel
    """To the service that keeps them."""


@asynccontextmanager
async def standing(settings: GroundSettings, identity: Identity) -> AsyncIterator[Ground]:
    """The ground of a service; waits for a database that is still starting."""
    dsn, name = settings.database.dsn.reveal(), identity.name
    async with (
        open_pool(PoolSettings(dsn, name, max_size=settings.database.connections)) as pool,
        traced(settings.trace, name) as tracing,
    ):
        if settings.database.migrate:
            await migrate(dsn, name, [identity.migrations])
        view = PostgresView(pool)
        install = await read_install(view)
        database = PostgresDatabase(pool, schema=name, install=install, encode=identity.encode, trace=current_trace)
        yield Ground(identity, view, database, install, tracing, SystemClock())


@asynccontextmanager
async def joined(settings: MemberSettings, identity: Identity) -> AsyncIterator[MemberGround]:
    """The ground of a service that joins an installation."""
    signer = Signer(settings.signing_key.reveal().encode())
    async with (
        standing(settings, identity) as ground,
        open_channel(settings.queue, client_tls(settings.server.tls)) as users,
    ):
        yield MemberGround(ground, await join(users, identity.name, signer, ground.clock), users)


def member_service(base: MemberGround) -> Service:
    """What a server serves whose calls any instance answers."""
    member = base.member
    return service_on(base.ground, member.authenticator, member.installation, new_registry(), AlwaysLeading())


def service_on(
    ground: Ground, authenticator: TokenAuthenticator, installation: str, registry: CollectorRegistry, leader: Leader
) -> Service:
    """What a server serves."""
    return Service(
        name=ground.identity.name,
        version=ground.identity.version,
        installation=installation,
        database=ground.database,
        authenticator=authenticator,
        watches=Watches(ground.database, authenticator.recheck, ground.clock),
        page_tokens=PageTokens(ground.install.secret),
        secret=ground.install.secret,
        registry=registry,
        tracing=ground.tracing,
        leader=leader,
    )


def new_registry() -> CollectorRegistry:
    """Where metrics are kept, those of the process already among them."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return registry


def candidate(ground: Ground, lease: str, address: str) -> Leadership:
    """The wish of this instance to be the one that does something."""
    return Leadership(PostgresLeases(ground.view), name=lease, holder=new_id(), address=address, clock=ground.clock)


def chores(ground: Ground, settings: GroundSettings, address: str, *retentions: Retention) -> Chores:
    """Carrying events to the bus, and deleting what is old: the rows of every service, and those named beside."""
    kept, stream = settings.kept, RedisStream(open_redis(settings.redis.reveal()), ground.identity.name)
    relay = Relay(ground.database.log, PostgresRelayMark(ground.view), stream, ground.clock)
    old = (*retentions, *kit_retentions(kept.requests, kept.audit))
    sweeper = Sweeper(ground.view, old, events=kept.events)
    return Chores(leadership=candidate(ground, CHORES, address), relay=relay, sweeper=sweeper)
