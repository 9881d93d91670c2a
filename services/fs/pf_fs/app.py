"""The filesystem service, put together."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any

from paddleflow.channel import open_channel
from paddleflow.common.v1 import event_pb2_grpc
from paddleflow.fs.v1 import file_manager_pb2_grpc, file_pb2_grpc, fs_pb2_grpc, link_pb2_grpc, mount_pb2_grpc
from pf_backends.opening import open_backend
from pf_fs.convert import encode
from pf_fs.disk import MachineDisk
from pf_fs.files.disk import MachineFiles, Patience
from pf_fs.files.far import FarFiles
from pf_fs.files.remembering import Memory
from pf_fs.files.servicer import FileServicer
from pf_fs.leaving import Known, Leaving
from pf_fs.links.postgres import PostgresLinkStore
from pf_fs.links.service import Links
from pf_fs.links.servicer import LinkServicer
from pf_fs.links.store import LinkStore
from pf_fs.manager.chunks import Chunks
from pf_fs.manager.places import OpenPlaces
from pf_fs.manager.servicer import FileManagerServicer
from pf_fs.mounted import mounted_of
from pf_fs.mounts.domain import KEPT
from pf_fs.mounts.postgres import PostgresMountStore
from pf_fs.mounts.service import Caches, Reports
from pf_fs.mounts.servicer import MountServicer
from pf_fs.mounts.store import MountStore
from pf_fs.ports import FilesAt, Folder, Servers, Users, Uses
from pf_fs.postgres import PostgresFilesystemStore
from pf_fs.resealing import Resealing, SealedThings
from pf_fs.rules import NEVER, Rules
from pf_fs.servers import BackendServers, Opener
from pf_fs.service import Departures, Entrance, Filesystems, Folders, Grants, Mount, Mounts, Naming, Settling, Updates
from pf_fs.servicer import FilesystemServicer
from pf_fs.settings import FsSettings, LocalSettings
from pf_fs.store import FilesystemStore
from pf_fs.threads import Patience as ThreadPatience
from pf_fs.threads import Threads
from pf_fs.uses import RemoteUses
from pf_fs.vault import Vault
from pf_kit.addresses import allowed_of
from pf_kit.bus.consumer import Consumer
from pf_kit.bus.source import GrpcEventSource
from pf_kit.bus.stream import RedisStream, open_redis
from pf_kit.clock import Clock
from pf_kit.ground import Identity, MemberGround, chores, joined, member_service
from pf_kit.lifecycle import Loops, Program, Stop, serve
from pf_kit.lists import Lists
from pf_kit.mutation import Mutations
from pf_kit.postgres.sweep import Retention
from pf_kit.server import Service, ServiceServer
from pf_kit.tls import client_tls
from pf_kit.users import RemoteUsers

NAME = "fs"
USERS = "queue"
"""The service that keeps the users, and its stream on the bus."""
MOUNTS_KEPT = Retention("filesystem_mounts", "report_time", KEPT)
IDENTITY = Identity(NAME, version("paddleflow-server"), files("pf_fs") / "sql" / "migrations", encode)


async def main(settings: FsSettings, stop: Stop, *, open_backend: Opener = open_backend) -> None:
    """Runs the service until it is told to stop. The opener is another one in tests."""
    async with joined(settings, IDENTITY) as base, _uses(settings, base) as uses:
        users = RemoteUsers(base.users, base.member.token.metadata)
        await serve(_server(settings, base, users, uses, open_backend), _loops(settings, base, users), stop)


PROGRAM = Program(NAME, IDENTITY.version, "PF_FS", FsSettings, main)


@asynccontextmanager
async def _uses(settings: FsSettings, base: MemberGround) -> AsyncIterator[Uses]:
    """Those who use filesystems. They need not be there before they are asked."""
    tls, places = client_tls(settings.server.tls), {"job": settings.job, "pipeline": settings.pipeline}
    async with AsyncExitStack() as stack:
        channels = {
            name: await stack.enter_async_context(open_channel(place, tls)) for name, place in places.items() if place
        }
        yield RemoteUses(channels, base.member.token.metadata)


@dataclass(frozen=True, slots=True)
class Parts:
    """What the use cases stand on."""

    store: FilesystemStore
    links: LinkStore
    mounts: MountStore
    users: Users
    uses: Uses
    folders: Folders
    servers: Servers
    vault: Vault

    @property
    def naming(self) -> Naming:
        return Naming(store=self.store)

    @property
    def descriptions(self) -> Mounts:
        return Mounts(naming=self.naming, links=self.links, mounts=self.mounts, settling=self.settling)

    @property
    def settling(self) -> Settling:
        return Settling(folders=self.folders, servers=self.servers, vault=self.vault)


def _server(settings: FsSettings, base: MemberGround, users: Users, uses: Uses, opener: Opener) -> ServiceServer:
    service = member_service(base)
    server = ServiceServer(settings.server, service)
    threads = Threads(ThreadPatience())
    servers = BackendServers(opener, allowed_of(settings.servers.allowed), threads)
    parts = Parts(
        PostgresFilesystemStore(),
        PostgresLinkStore(),
        PostgresMountStore(),
        users,
        uses,
        folders_of(settings.local),
        servers,
        vault_of(settings),
    )
    server.add(fs_pb2_grpc.add_FilesystemServiceServicer_to_server, filesystem_servicer(service, parts))
    server.add(link_pb2_grpc.add_LinkServiceServicer_to_server, _link_servicer(service, parts))
    server.add(mount_pb2_grpc.add_MountServiceServicer_to_server, _mount_servicer(service, parts, base.ground.clock))
    places = OpenPlaces(servers, threads)
    manager = _manager_servicer(service, parts, places, base.ground.clock)
    server.add(file_manager_pb2_grpc.add_FileManagerServiceServicer_to_server, manager)
    server.add(
        file_pb2_grpc.add_FileServiceServicer_to_server, _file_servicer(service, parts, places, base.ground.clock)
    )
    return server


def _file_servicer(service: Service, parts: Parts, places: OpenPlaces, clock: Clock) -> FileServicer:
    memory = Memory(time.time_ns)
    machine, far = MachineFiles(memory, clock, Patience()), FarFiles(places, memory, clock)

    def files_at(place: Folder | Mount) -> FilesAt:
        return machine.at(place) if isinstance(place, Folder) else far.at(place)

    entrance = Entrance(naming=parts.naming, folders=parts.folders, mounts=parts.descriptions)
    return FileServicer(database=service.database, entrance=entrance, files_at=files_at)


def filesystem_servicer(service: Service, parts: Parts) -> FilesystemServicer:
    """The servicer over a store, and what it can do."""
    store, naming, settling = parts.store, parts.naming, parts.settling
    return FilesystemServicer(
        database=service.database,
        mutations=Mutations(service.database, service.secret),
        lists=Lists(tokens=service.page_tokens),
        watches=service.watches,
        store=store,
        filesystems=Filesystems(
            store=store, mounts=parts.mounts, naming=naming, settling=settling, users=parts.users, uses=parts.uses
        ),
        updates=Updates(store=store, naming=naming, settling=settling, vault=parts.vault),
        grants=Grants(store=store, naming=naming, users=parts.users),
        mounts=parts.descriptions,
    )


def _manager_servicer(service: Service, parts: Parts, places: OpenPlaces, clock: Clock) -> FileManagerServicer:
    return FileManagerServicer(
        database=service.database,
        tokens=service.page_tokens,
        mounts=parts.descriptions,
        places=places,
        chunks=Chunks(clock),
    )


def _link_servicer(service: Service, parts: Parts) -> LinkServicer:
    links = Links(
        store=parts.links,
        filesystems=parts.store,
        naming=parts.naming,
        settling=parts.settling,
        servers=parts.servers,
    )
    mutations = Mutations(service.database, service.secret)
    return LinkServicer(database=service.database, mutations=mutations, links=links)


def _mount_servicer(service: Service, parts: Parts, clock: Clock) -> MountServicer:
    return MountServicer(
        database=service.database,
        mutations=Mutations(service.database, service.secret),
        lists=Lists(tokens=service.page_tokens),
        reports=Reports(store=parts.mounts, naming=parts.naming, clock=clock),
        caches=Caches(store=parts.mounts, naming=parts.naming),
    )


def vault_of(settings: FsSettings) -> Vault:
    """What keeps secrets, with the keys of this installation."""
    return Vault(settings.key_ring())


def folders_of(settings: LocalSettings) -> Folders:
    """The folders of this machine, under the rules of its administrator."""
    never = (*NEVER, *settings.never)
    rules = Rules(tuple(PurePosixPath(os.path.realpath(folder)) for folder in never))
    return Folders(disk=MachineDisk(), rules=rules, roots=settings.roots, mounted=mounted_of(settings.mounted))


def _loops(settings: FsSettings, base: MemberGround, users: Users) -> Loops:
    """One instance does the chores; all hear of users who are deleted."""
    address = settings.server.listen[0]
    return {
        "chores": chores(base.ground, settings, address, MOUNTS_KEPT).run,
        "users": _consumer(settings, base, users).run,
        "resealing": _resealing(settings, base).run,
    }


def _resealing(settings: FsSettings, base: MemberGround) -> Resealing:
    things: dict[str, SealedThings[Any]] = {"filesystems": PostgresFilesystemStore(), "links": PostgresLinkStore()}
    return Resealing(database=base.ground.database, things=things, vault=vault_of(settings))


def _consumer(settings: FsSettings, base: MemberGround, users: Users) -> Consumer[Known]:
    ground = base.ground
    owner = GrpcEventSource(event_pb2_grpc.EventServiceStub(base.users), base.member.token.metadata)
    leaving = Leaving(departures=Departures(store=PostgresFilesystemStore()), users=users, clock=ground.clock)
    bus = RedisStream(open_redis(settings.redis.reveal()), USERS)
    return Consumer(NAME, USERS, ground.database, bus, owner, leaving, ground.clock)
