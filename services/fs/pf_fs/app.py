"""The filesystem service, put together."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import PurePosixPath

from grpc import aio
from prometheus_client import CollectorRegistry, ProcessCollector

from paddleflow.channel import open_channel
from paddleflow.common.v1 import event_pb2_grpc
from paddleflow.fs.v1 import fs_pb2_grpc
from pf_fs.convert import encode
from pf_fs.disk import MachineDisk
from pf_fs.leaving import Known, Leaving
from pf_fs.ports import Users
from pf_fs.postgres import PostgresFilesystemStore
from pf_fs.rules import NEVER, Rules
from pf_fs.service import Departures, Filesystems, Folders, Grants, Mounts, Naming
from pf_fs.servicer import FilesystemServicer
from pf_fs.settings import FsSettings, LocalSettings
from pf_fs.store import FilesystemStore
from pf_fs.users import RemoteUsers
from pf_kit.bus.consumer import Consumer
from pf_kit.bus.relay import Relay
from pf_kit.bus.source import GrpcEventSource
from pf_kit.bus.stream import RedisStream, open_redis
from pf_kit.call import current_trace
from pf_kit.chores import CHORES, Chores
from pf_kit.clock import SystemClock
from pf_kit.forward import AlwaysLeading
from pf_kit.ids import new_id
from pf_kit.joining import Membership, join
from pf_kit.leases import Leadership
from pf_kit.lifecycle import Loops, Program, Stop, serve
from pf_kit.lists import Lists
from pf_kit.mutation import Mutations
from pf_kit.page import PageTokens
from pf_kit.postgres.database import PostgresDatabase
from pf_kit.postgres.install import Install, read_install
from pf_kit.postgres.leases import PostgresLeases
from pf_kit.postgres.migrate import migrate
from pf_kit.postgres.pool import PoolSettings, open_pool
from pf_kit.postgres.positions import PostgresRelayMark
from pf_kit.postgres.sweep import Sweeper, kit_retentions
from pf_kit.postgres.views import PostgresView
from pf_kit.server import Service, ServiceServer
from pf_kit.tls import client_tls
from pf_kit.tokens import Signer
from pf_kit.tracing import Tracing, traced
from pf_kit.watch import Watches

NAME = "fs"
"""Also the name of the schema in Postgres and of the stream on the bus."""
USERS = "queue"
"""The service that keeps the users, and its stream on the bus."""
VERSION = version("paddleflow-server")


@dataclass(frozen=True, slots=True)
class Ground:
    """What the service stands on."""

    view: PostgresView
    database: PostgresDatabase
    install: Install
    member: Membership
    queue: aio.Channel
    """To the service that keeps the users."""
    users: Users
    tracing: Tracing
    clock: SystemClock


async def main(settings: FsSettings, stop: Stop) -> None:
    """Runs the service until it is told to stop."""
    async with _ground(settings) as ground:
        await serve(_server(settings, ground), _loops(settings, ground), stop)


PROGRAM = Program(NAME, VERSION, "PF_FS", FsSettings, main)


@asynccontextmanager
async def _ground(settings: FsSettings) -> AsyncIterator[Ground]:
    dsn = settings.database.dsn.reveal()
    if settings.database.migrate:
        await migrate(dsn, NAME, [files("pf_fs") / "sql" / "migrations"])
    async with (
        open_pool(PoolSettings(dsn, NAME, max_size=settings.database.connections)) as pool,
        open_channel(settings.queue, client_tls(settings.server.tls)) as channel,
        traced(settings.trace, NAME) as tracing,
    ):
        clock, view = SystemClock(), PostgresView(pool)
        member = await join(channel, NAME, Signer(settings.signing_key.reveal().encode()), clock)
        install = await read_install(view)
        database = PostgresDatabase(pool, schema=NAME, install=install, encode=encode, trace=current_trace)
        users = RemoteUsers(channel, member.token.metadata)
        yield Ground(view, database, install, member, channel, users, tracing, clock)


def _server(settings: FsSettings, ground: Ground) -> ServiceServer:
    database, install, authenticator = ground.database, ground.install, ground.member.authenticator
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    service = Service(
        name=NAME,
        version=VERSION,
        installation=ground.member.installation,
        database=database,
        authenticator=authenticator,
        watches=Watches(database, authenticator.recheck, ground.clock),
        page_tokens=PageTokens(install.secret),
        secret=install.secret,
        registry=registry,
        tracing=ground.tracing,
        leader=AlwaysLeading(),
    )
    server = ServiceServer(settings.server, service)
    servicer = filesystem_servicer(service, PostgresFilesystemStore(), ground.users, folders_of(settings.local))
    server.add(fs_pb2_grpc.add_FilesystemServiceServicer_to_server, servicer)
    return server


def filesystem_servicer(service: Service, store: FilesystemStore, users: Users, folders: Folders) -> FilesystemServicer:
    """The servicer over a store, and what it can do."""
    naming = Naming(store=store)
    return FilesystemServicer(
        database=service.database,
        mutations=Mutations(service.database, service.secret),
        lists=Lists(tokens=service.page_tokens),
        watches=service.watches,
        store=store,
        filesystems=Filesystems(store=store, naming=naming, folders=folders, users=users),
        grants=Grants(store=store, naming=naming, users=users),
        mounts=Mounts(naming=naming, folders=folders),
    )


def folders_of(settings: LocalSettings) -> Folders:
    """The folders of this machine, under the rules of its administrator."""
    never = (*NEVER, *settings.never)
    rules = Rules(tuple(PurePosixPath(os.path.realpath(folder)) for folder in never))
    return Folders(disk=MachineDisk(), rules=rules, roots=settings.roots)


def _loops(settings: FsSettings, ground: Ground) -> Loops:
    """One instance carries events to the bus, and deletes what is old; all hear of users who are deleted."""
    kept, stream = settings.kept, RedisStream(open_redis(settings.redis.reveal()), NAME)
    leadership = Leadership(
        PostgresLeases(ground.view),
        name=CHORES,
        holder=new_id(),
        address=settings.server.listen[0],
        clock=ground.clock,
    )
    relay = Relay(ground.database.log, PostgresRelayMark(ground.view), stream, ground.clock)
    sweeper = Sweeper(ground.view, kit_retentions(kept.requests, kept.audit), events=kept.events)
    chores = Chores(leadership=leadership, relay=relay, sweeper=sweeper)
    return {"chores": chores.run, "users": _consumer(settings, ground).run}


def _consumer(settings: FsSettings, ground: Ground) -> Consumer[Known]:
    owner = GrpcEventSource(event_pb2_grpc.EventServiceStub(ground.queue), ground.member.token.metadata)
    leaving = Leaving(departures=Departures(store=PostgresFilesystemStore()), users=ground.users, clock=ground.clock)
    bus = RedisStream(open_redis(settings.redis.reveal()), USERS)
    return Consumer(NAME, USERS, ground.database, bus, owner, leaving, ground.clock)
