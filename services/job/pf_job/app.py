"""The job service, put together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import version
from importlib.resources import files

from grpc import aio
from prometheus_client import CollectorRegistry, ProcessCollector

from paddleflow.channel import open_channel
from paddleflow.common.v1 import event_pb2_grpc
from paddleflow.job.v1 import job_pb2_grpc, log_pb2_grpc, spec_pb2
from pf_job.driving.book import Book
from pf_job.driving.hearing import QueueEvents
from pf_job.driving.loops import Driver
from pf_job.driving.peers_grpc import RemoteAdmission
from pf_job.driving.preparing import Launches
from pf_job.jobs.convert import encode
from pf_job.jobs.postgres import PostgresJobStore
from pf_job.jobs.service import Jobs
from pf_job.jobs.servicer import JobServicer
from pf_job.jobs.store import JobStore
from pf_job.jobs.taking import Taking
from pf_job.jobs.watching import Tellers
from pf_job.logs.service import Logs
from pf_job.logs.servicer import LogServicer
from pf_job.peers_grpc import RemoteFilesystems, RemoteQueues
from pf_job.runtimes.local.adapter import LocalRuntime
from pf_job.runtimes.local.settings import RunnerSettings
from pf_job.runtimes.port import Runtime
from pf_job.settings import JobSettings, LocalSettings
from pf_job.specs.convert import given_spec, spec_message
from pf_job.specs.domain import JobSpec
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
from pf_kit.leases import Leadership, Lease
from pf_kit.lifecycle import Loops, Program, Stop, serve
from pf_kit.lists import Lists
from pf_kit.mutation import Mutations
from pf_kit.page import PageTokens
from pf_kit.postgres.database import PostgresDatabase
from pf_kit.postgres.install import Install, read_install
from pf_kit.postgres.leases import PostgresLeases, fence
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

NAME = "job"
"""Also the name of the schema in Postgres and of the stream on the bus."""
QUEUE = "queue"
"""The service whose events are heard."""
DRIVING = "driving"
"""The lease of the instance that drives jobs."""
VERSION = version("paddleflow-server")
SPECS_KEPT = 500
"""Specs of jobs that were read last, of up to some 100 KiB each, usually less than 1 KiB."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What the service stands on."""

    view: PostgresView
    database: PostgresDatabase
    install: Install
    member: Membership
    queue: aio.Channel
    queues: RemoteQueues
    filesystems: RemoteFilesystems
    store: JobStore
    tracing: Tracing
    clock: SystemClock


async def main(settings: JobSettings, stop: Stop) -> None:
    """Runs the service until it is told to stop."""
    async with _ground(settings) as ground, _runtimes(settings.local) as runtimes:
        logs = Logs(runtimes, ground.clock, stop.asked)
        await serve(_server(settings, ground, logs), _loops(settings, ground, runtimes), stop)


@asynccontextmanager
async def _ground(settings: JobSettings) -> AsyncIterator[Ground]:
    dsn = settings.database.dsn.reveal()
    if settings.database.migrate:
        await migrate(dsn, NAME, [files("pf_job") / "sql" / "migrations"])
    tls = client_tls(settings.server.tls)
    async with (
        open_pool(PoolSettings(dsn, NAME, max_size=settings.database.connections)) as pool,
        open_channel(settings.queue, tls) as queue,
        open_channel(settings.fs, tls) as fs,
        traced(settings.trace, NAME) as tracing,
    ):
        clock, view = SystemClock(), PostgresView(pool)
        member = await join(queue, NAME, Signer(settings.signing_key.reveal().encode()), clock)
        install = await read_install(view)
        database = PostgresDatabase(pool, schema=NAME, install=install, encode=encode, trace=current_trace)
        metadata = member.token.metadata
        yield Ground(
            view=view,
            database=database,
            install=install,
            member=member,
            queue=queue,
            queues=RemoteQueues(queue, metadata, clock),
            filesystems=RemoteFilesystems(fs, metadata),
            # A spec is read a dozen times while its job lives, and hardly ever changes.
            store=PostgresJobStore(encode=_bytes_of, decode=lru_cache(SPECS_KEPT)(_spec_of)),
            tracing=tracing,
            clock=clock,
        )


@asynccontextmanager
async def _runtimes(settings: LocalSettings) -> AsyncIterator[Mapping[str, Runtime]]:
    """The runtimes by cluster."""
    if not settings.cluster or settings.folder is None:
        yield {}
        return
    local = LocalRuntime(settings.folder, RunnerSettings(hidden=settings.unseen))
    try:
        yield {settings.cluster: local}
    finally:
        await local.rest()
        await local.close()


def _server(settings: JobSettings, ground: Ground, logs: Logs) -> ServiceServer:
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
    server.add(job_pb2_grpc.add_JobServiceServicer_to_server, _servicer(settings, ground, service))
    server.add(log_pb2_grpc.add_LogServiceServicer_to_server, _log_servicer(ground, service, logs))
    return server


def _servicer(settings: JobSettings, ground: Ground, service: Service) -> JobServicer:
    store, queues = ground.store, ground.queues
    return JobServicer(
        database=service.database,
        mutations=Mutations(service.database, service.secret),
        lists=Lists(tokens=service.page_tokens),
        watches=service.watches,
        tellers=Tellers(store=store, queues=queues),
        store=store,
        jobs=Jobs(store=store, queues=queues),
        taking=Taking(queues=queues, filesystems=ground.filesystems, kept=settings.kept.jobs),
        clock=ground.clock,
    )


def _log_servicer(ground: Ground, service: Service, logs: Logs) -> LogServicer:
    return LogServicer(
        database=service.database,
        lists=Lists(tokens=service.page_tokens),
        store=ground.store,
        jobs=Jobs(store=ground.store, queues=ground.queues),
        logs=logs,
        recheck=service.authenticator.recheck,
    )


def _loops(settings: JobSettings, ground: Ground, runtimes: Mapping[str, Runtime]) -> Loops:
    """One instance drives the jobs; one carries events to the bus, and deletes what is old."""
    kept, redis = settings.kept, open_redis(settings.redis.reveal())
    relay = Relay(ground.database.log, PostgresRelayMark(ground.view), RedisStream(redis, NAME), ground.clock)
    sweeper = Sweeper(ground.view, kit_retentions(kept.requests, kept.audit), events=kept.events)
    bus, launches = RedisStream(redis, QUEUE), Launches(ground.filesystems, settings.local.everybody)

    async def drive(lease: Lease) -> None:
        await _drive(ground, runtimes, launches, bus, lease)

    chores = Chores(leadership=_candidate(settings, ground, CHORES), relay=relay, sweeper=sweeper)
    return {"chores": chores.run, DRIVING: lambda: _candidate(settings, ground, DRIVING).run(drive)}


def _candidate(settings: JobSettings, ground: Ground, name: str) -> Leadership:
    """The wish of this instance to be the one that does something."""
    leases, address = PostgresLeases(ground.view), settings.server.listen[0]
    return Leadership(leases, name=name, holder=new_id(), address=address, clock=ground.clock)


async def _drive(
    ground: Ground, runtimes: Mapping[str, Runtime], launches: Launches, bus: RedisStream, lease: Lease
) -> None:
    hold = partial(fence, lease=lease)
    amiss = asyncio.Event()
    events = QueueEvents(store=ground.store, fence=hold, amiss=amiss)
    metadata = ground.member.token.metadata
    owner = GrpcEventSource(event_pb2_grpc.EventServiceStub(ground.queue), metadata)
    consumer = Consumer(NAME, QUEUE, ground.database, bus, owner, events, ground.clock)
    driver = Driver(
        book=Book(database=ground.database, store=ground.store, clock=ground.clock, fence=hold),
        store=ground.store,
        admission=RemoteAdmission(ground.queue, metadata, ground.clock),
        runtimes=runtimes,
        preparation=launches,
        amiss=amiss,
        clock=ground.clock,
    )
    await driver.run(consumer.run)


def _bytes_of(spec: JobSpec) -> bytes:
    return spec_message(spec).SerializeToString(deterministic=True)


def _spec_of(data: bytes) -> JobSpec:
    return given_spec(spec_pb2.JobSpec.FromString(data))


PROGRAM = Program(NAME, VERSION, "PF_JOB", JobSettings, main)
